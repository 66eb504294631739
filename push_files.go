package uahive

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// trustFile is a trust list that a session has open as a file (Part 12, 7.8.2.1).
type trustFile struct {
	group   pki.Group
	session ua.NodeID
	writing bool
	content []byte
	pos     int
	used    time.Time
}

// Modes of Open (Part 20, 4.2.2).
const (
	openRead  = 1
	openWrite = 2 | 4 // erasing what is there
)

// bindTrustList gives the methods and properties of a group's TrustList what they run.
func (p *push) bindTrustList(g pki.Group) {
	list := p.server.space.Node(trustLists[g])
	if list == nil {
		return
	}
	for name, run := range map[string]pushMethod{
		"Open":              func(caller *Caller, c *addrspace.Call) error { return p.open(g, caller, c) },
		"OpenWithMasks":     func(caller *Caller, c *addrspace.Call) error { return p.openWithMasks(g, caller, c) },
		"Close":             p.with(g, p.close),
		"Read":              p.with(g, readFile),
		"Write":             p.with(g, writeFile),
		"GetPosition":       p.with(g, getPosition),
		"SetPosition":       p.with(g, setPosition),
		"CloseAndUpdate":    p.with(g, p.closeAndUpdate),
		"AddCertificate":    func(caller *Caller, c *addrspace.Call) error { return p.addCertificate(g, caller, c) },
		"RemoveCertificate": func(caller *Caller, c *addrspace.Call) error { return p.removeCertificate(g, caller, c) },
	} {
		p.bind(list.Component(ua.QualifiedName{Name: name}), run)
	}
	property := func(name string, read func(ctx context.Context) any) {
		if n := list.Property(name); n != nil {
			// On the worker pool, since the lock may be held while files are written.
			n.Variable().SetSource(&addrspace.Source{Read: func(ctx context.Context) (ua.DataValue, error) {
				v, err := ua.ValueOf(read(ctx))
				return ua.DataValue{Value: v}, err
			}})
		}
	}
	property("OpenCount", func(context.Context) any { return p.openCount(g) })
	property("LastUpdateTime", func(context.Context) any { return ua.DateTimeOf(p.store.LastUpdate(g)) })
	property("Writable", func(context.Context) any { return true })
	property("UserWritable", func(ctx context.Context) any { _, err := p.admit(ctx); return err == nil })
	if n := list.Property("Size"); n != nil {
		// It has no meaning for a trust list (Part 12, 7.8.2.1).
		n.Variable().Store(ua.DataValue{Status: ua.BadNotSupported})
	}
}

func (p *push) openCount(g pki.Group) uint16 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeUnused(time.Now())
	return uint16(len(p.filesOf(g)))
}

func (p *push) filesOf(g pki.Group) []*trustFile {
	var files []*trustFile
	for _, f := range p.files {
		if f.group == g {
			files = append(files, f)
		}
	}
	return files
}

// closeUnused closes what nobody has used for a while.
func (p *push) closeUnused(now time.Time) {
	for handle, f := range p.files {
		if now.Sub(f.used) > trustFileTimeout {
			p.forget(handle, f)
		}
	}
}

// forget closes a file; a change that consisted of nothing else ends with it.
func (p *push) forget(handle uint32, f *trustFile) {
	delete(p.files, handle)
	if f.writing && p.change != nil && p.change.empty() {
		p.change = nil
	}
}

// with finds the file of a handle, which is the first argument of the methods that work on one. A handle is of
// use to the session that opened it, on the list that it is of.
func (p *push) with(g pki.Group, run func(caller *Caller, f *trustFile, handle uint32, c *addrspace.Call) error) pushMethod {
	return func(caller *Caller, c *addrspace.Call) error {
		handle := input[uint32](c, 0)
		f := p.files[handle]
		if f == nil || f.group != g || f.session != caller.SessionID {
			return ua.BadInvalidArgument
		}
		f.used = time.Now()
		return run(caller, f, handle, c)
	}
}

func (p *push) open(g pki.Group, caller *Caller, c *addrspace.Call) error {
	switch input[uint8](c, 0) {
	case openRead:
		return p.openForReading(g, ua.TrustListMasksAll, caller, c)
	case openWrite:
		if err := p.begin(caller); err != nil {
			return err
		}
		if len(p.filesOf(g)) > 0 {
			p.dropEmpty()
			return ua.BadNotWritable
		}
		err := p.add(&trustFile{group: g, session: caller.SessionID, writing: true}, c)
		if err != nil {
			p.dropEmpty()
		}
		return err
	}
	return ua.BadNotSupported
}

func (p *push) openWithMasks(g pki.Group, caller *Caller, c *addrspace.Call) error {
	return p.openForReading(g, ua.TrustListMasks(input[uint32](c, 0))&ua.TrustListMasksAll, caller, c)
}

// openForReading takes a copy of the list as it is in force, whatever is about to change.
func (p *push) openForReading(g pki.Group, masks ua.TrustListMasks, caller *Caller, c *addrspace.Call) error {
	if slices.ContainsFunc(p.filesOf(g), func(f *trustFile) bool { return f.writing }) {
		return ua.BadNotReadable
	}
	list, err := p.store.TrustList(g)
	if err != nil {
		p.log.Error().Err(err).Msg("cannot read a trust list")
		return ua.BadResourceUnavailable
	}
	data := ua.TrustListDataType{SpecifiedLists: uint32(masks)}
	for _, part := range partsOf(&list, &data) {
		if masks&part.mask != 0 {
			*part.wire = *part.list
		}
	}
	return p.add(&trustFile{group: g, session: caller.SessionID, content: data.AppendTo(nil)}, c)
}

// part is one of the four arrays of a trust list, here and as it travels.
type part struct {
	mask       ua.TrustListMasks
	list, wire *[][]byte
}

func partsOf(l *pki.TrustList, data *ua.TrustListDataType) []part {
	return []part{
		{ua.TrustListMasksTrustedCertificates, &l.Trusted, &data.TrustedCertificates},
		{ua.TrustListMasksTrustedCrls, &l.TrustedCRLs, &data.TrustedCrls},
		{ua.TrustListMasksIssuerCertificates, &l.Issuers, &data.IssuerCertificates},
		{ua.TrustListMasksIssuerCrls, &l.IssuerCRLs, &data.IssuerCrls},
	}
}

func (p *push) add(f *trustFile, c *addrspace.Call) error {
	if len(p.files) >= maxTrustFiles {
		return ua.BadTooManyOperations
	}
	for p.handle++; p.handle == 0 || p.files[p.handle] != nil; p.handle++ {
	}
	f.used = time.Now()
	p.files[p.handle] = f
	p.busy.Store(true)
	c.Outputs = []ua.Variant{ua.VariantOf(p.handle)}
	return nil
}

func (p *push) close(_ *Caller, f *trustFile, handle uint32, _ *addrspace.Call) error {
	p.forget(handle, f)
	return nil
}

func readFile(_ *Caller, f *trustFile, _ uint32, c *addrspace.Call) error {
	length := input[int32](c, 1)
	switch {
	case f.writing:
		return ua.BadInvalidState
	case length < 0:
		return ua.BadInvalidArgument
	}
	end := min(len(f.content), f.pos+int(length))
	c.Outputs = []ua.Variant{ua.VariantOf(bytes.Clone(f.content[f.pos:end]))}
	f.pos = end
	return nil
}

func writeFile(_ *Caller, f *trustFile, _ uint32, c *addrspace.Call) error {
	data := input[[]byte](c, 1)
	switch {
	case !f.writing:
		return ua.BadInvalidState
	case len(data) > maxTrustListSize-f.pos:
		return ua.BadEncodingLimitsExceeded
	}
	f.content = append(f.content[:f.pos:f.pos], append(bytes.Clone(data), f.content[min(len(f.content), f.pos+len(data)):]...)...)
	f.pos += len(data)
	return nil
}

func getPosition(_ *Caller, f *trustFile, _ uint32, c *addrspace.Call) error {
	c.Outputs = []ua.Variant{ua.VariantOf(uint64(f.pos))}
	return nil
}

// setPosition stays within the file (Part 20, 4.2.7).
func setPosition(_ *Caller, f *trustFile, _ uint32, c *addrspace.Call) error {
	f.pos = int(min(input[uint64](c, 1), uint64(len(f.content))))
	return nil
}

// closeAndUpdate makes what was written a part of the change (Part 12, 7.8.2.5). Lists that it does not specify
// stay. The file is closed in any case.
func (p *push) closeAndUpdate(caller *Caller, f *trustFile, handle uint32, c *addrspace.Call) error {
	if !f.writing {
		return ua.BadInvalidState
	}
	delete(p.files, handle)
	list, err := p.merge(f)
	if err != nil {
		p.dropEmpty()
		return err
	}
	p.change.lists[f.group] = list
	c.Outputs = []ua.Variant{ua.BooleanVariant(true)}
	p.who(caller).Int("trusted", len(list.Trusted)).Msg("a trust list was uploaded, and waits for ApplyChanges")
	return nil
}

func (p *push) merge(f *trustFile) (*pki.TrustList, error) {
	d := codec.NewDecoder(f.content, &codec.Limits{})
	var data ua.TrustListDataType
	data.DecodeFrom(d)
	if d.Err() != nil || d.Remaining() > 0 {
		return nil, ua.BadDecodingError
	}
	list, err := p.store.TrustList(f.group)
	if err != nil {
		p.log.Error().Err(err).Msg("cannot read a trust list")
		return nil, ua.BadResourceUnavailable
	}
	if pending := p.change.lists[f.group]; pending != nil {
		list = *pending
	}
	for _, part := range partsOf(&list, &data) {
		if ua.TrustListMasks(data.SpecifiedLists)&part.mask != 0 {
			*part.list = nil
			for _, der := range *part.wire {
				*part.list = append(*part.list, bytes.Clone(der))
			}
		}
	}
	if err := list.Check(); err != nil {
		p.log.Warn().Err(err).Msg("an uploaded trust list was refused")
		return nil, ua.BadCertificateInvalid
	}
	return &list, nil
}

// alone reports what keeps a list from being changed at once.
func (p *push) alone(g pki.Group) error {
	switch {
	case p.change != nil:
		return ua.BadTransactionPending
	case len(p.filesOf(g)) > 0:
		return ua.BadInvalidState
	}
	return nil
}

// addCertificate adds one certificate at once, outside of any change (Part 12, 7.8.2.6). One that was issued by
// an authority that is not in the list is refused.
func (p *push) addCertificate(g pki.Group, caller *Caller, c *addrspace.Call) error {
	if err := p.alone(g); err != nil {
		return err
	}
	der, trusted := bytes.Clone(input[[]byte](c, 0)), input[bool](c, 1)
	leaf, err := pki.Intern(der)
	if err != nil || len(leaf.DER) != len(der) {
		return ua.BadCertificateInvalid
	}
	check := pki.Check{Use: pki.UseClient}
	if g == pki.Users {
		check.Use = pki.UseUser
	}
	var refused *pki.Error
	if errors.As(p.store.Recheck(leaf, check), &refused) && refused.Detail == ua.BadCertificateChainIncomplete {
		return ua.BadCertificateChainIncomplete
	}
	list, err := p.store.TrustList(g)
	if err != nil {
		return ua.BadResourceUnavailable
	}
	into := &list.Trusted
	if !trusted {
		into = &list.Issuers
	}
	*into = append(*into, der)
	p.who(caller).Str("thumbprint", leaf.ThumbprintString()).Bool("trusted", trusted).Msg("a certificate is added to a trust list")
	return p.set(g, list)
}

// removeCertificate takes one certificate out at once (Part 12, 7.8.2.7), with the revocation lists of an
// authority. One that others in the list were issued by stays.
func (p *push) removeCertificate(g pki.Group, caller *Caller, c *addrspace.Call) error {
	if err := p.alone(g); err != nil {
		return err
	}
	thumbprint, trusted := strings.ToLower(input[string](c, 0)), input[bool](c, 1)
	list, err := p.store.TrustList(g)
	if err != nil {
		return ua.BadResourceUnavailable
	}
	from := &list.Trusted
	if !trusted {
		from = &list.Issuers
	}
	i := slices.IndexFunc(*from, func(der []byte) bool {
		sum := sha1.Sum(der)
		return hex.EncodeToString(sum[:]) == thumbprint
	})
	if i < 0 {
		return ua.BadInvalidArgument
	}
	cert, err := x509.ParseCertificate((*from)[i])
	if err != nil {
		return ua.BadInternalError
	}
	*from = slices.Delete(*from, i, i+1)
	if cert.IsCA {
		if issuedAny(&list, cert) {
			return ua.BadCertificateChainIncomplete
		}
		dropLists(&list, cert)
	}
	p.who(caller).Str("thumbprint", thumbprint).Bool("trusted", trusted).Msg("a certificate is removed from a trust list")
	return p.set(g, list)
}

// issuedAny reports whether a certificate of the list needs the authority.
func issuedAny(l *pki.TrustList, authority *x509.Certificate) bool {
	for _, der := range slices.Concat(l.Trusted, l.Issuers) {
		cert, err := x509.ParseCertificate(der)
		if err != nil || cert.Equal(authority) {
			continue
		}
		if bytes.Equal(cert.RawIssuer, authority.RawSubject) && !bytes.Equal(cert.RawIssuer, cert.RawSubject) {
			return true
		}
	}
	return false
}

// dropLists takes the revocation lists of the authority out, unless another copy of it is left.
func dropLists(l *pki.TrustList, authority *x509.Certificate) {
	for _, der := range slices.Concat(l.Trusted, l.Issuers) {
		if bytes.Equal(der, authority.Raw) {
			return
		}
	}
	for _, lists := range []*[][]byte{&l.TrustedCRLs, &l.IssuerCRLs} {
		*lists = slices.DeleteFunc(*lists, func(der []byte) bool {
			list, err := x509.ParseRevocationList(der)
			return err == nil && list.CheckSignatureFrom(authority) == nil
		})
	}
}

func (p *push) set(g pki.Group, list pki.TrustList) error {
	if err := p.store.SetTrustList(g, list); err != nil {
		p.log.Error().Err(err).Msg("cannot change a trust list")
		return ua.BadResourceUnavailable
	}
	return nil
}
