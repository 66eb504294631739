package uahive_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/pki"
)

var (
	configuration = ua.NumericID(0, id.ServerConfiguration)
	appGroup      = ua.NumericID(0, id.ServerConfiguration_CertificateGroups_DefaultApplicationGroup)
	appList       = ua.NumericID(0, id.ServerConfiguration_CertificateGroups_DefaultApplicationGroup_TrustList)
	rsaType       = ua.NumericID(0, id.RsaSha256ApplicationCertificateType)
)

// managed is a server whose administrators come over the network.
type managed struct {
	t      *testing.T
	server *uahive.Server
	url    string
	dir    string
	own    *pki.Store // of all clients
}

func newManaged(t *testing.T) *managed {
	t.Helper()
	m := &managed{t: t, dir: t.TempDir()}
	var err error
	if m.own, err = pki.Memory(pki.Config{ApplicationURI: "urn:test:admin", AcceptAll: true}); err != nil {
		t.Fatal(err)
	}
	m.server, err = uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", PKI: m.dir, ApplicationURI: "urn:test:managed", ShutdownDelay: -1,
		Security: append(uahive.SecurePolicies(), uahive.NoSecurity), Anonymous: true,
		Authenticate: func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			user := &uahive.User{Name: c.UserName, Kind: c.Kind}
			if c.UserName == "admin" {
				user.Roles = []ua.NodeID{ua.NumericID(0, id.WellKnownRole_SecurityAdmin)}
			}
			return user, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.server.PKI().Trust(m.own.Certificate().DER); err != nil {
		t.Fatal(err)
	}
	l, err := m.server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	m.url = "opc.tcp://" + l.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- m.server.ServeListener(context.Background(), l) }()
	t.Cleanup(func() {
		if err := errors.Join(m.server.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return m
}

func (m *managed) connect(user string, policy string, mode ua.MessageSecurityMode) *client.Client {
	m.t.Helper()
	config := client.Config{PKI: m.own, TrustAll: true, Security: client.Security{Policy: policy, Mode: mode}}
	if user != "" {
		config.User = client.UserName(user, "secret")
	}
	c, err := client.Connect(m.t.Context(), m.url, config)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func (m *managed) admin() *client.Client {
	m.t.Helper()
	return m.connect("admin", client.PolicyBasic256Sha256, ua.MessageSecurityModeSignAndEncrypt)
}

// call calls a method by its name below an object.
func (m *managed) call(c *client.Client, object ua.NodeID, name string, args ...any) ([]ua.Variant, error) {
	m.t.Helper()
	n := m.server.Space().Node(object).Component(ua.QualifiedName{Name: name})
	if n == nil {
		m.t.Fatalf("there is no method %s", name)
	}
	return c.Call(m.t.Context(), object, n.ID(), args...)
}

// must is call where it has to work.
func (m *managed) must(c *client.Client, object ua.NodeID, name string, args ...any) []ua.Variant {
	m.t.Helper()
	out, err := m.call(c, object, name, args...)
	if err != nil {
		m.t.Fatalf("%s: %v", name, err)
	}
	return out
}

// fails is call where it has to fail with a code.
func (m *managed) fails(want ua.StatusCode, c *client.Client, object ua.NodeID, name string, args ...any) {
	m.t.Helper()
	if _, err := m.call(c, object, name, args...); ua.StatusOf(err) != want {
		m.t.Errorf("%s: %v, want %v", name, err, want)
	}
}

func as[T any](t *testing.T, v ua.Variant) T {
	t.Helper()
	got, ok := ua.As[T](v)
	if !ok {
		t.Fatalf("got %v", v)
	}
	return got
}

// read returns what a client sees of a trust list.
func (m *managed) read(c *client.Client, list ua.NodeID) *ua.TrustListDataType {
	m.t.Helper()
	handle := as[uint32](m.t, m.must(c, list, "Open", uint8(1))[0])
	var content []byte
	for {
		b, _ := ua.As[[]byte](m.must(c, list, "Read", handle, int32(500))[0])
		if len(b) == 0 {
			break
		}
		content = append(content, b...)
	}
	m.must(c, list, "Close", handle)
	data := new(ua.TrustListDataType)
	d := codec.NewDecoder(content, &codec.Limits{})
	if data.DecodeFrom(d); d.Err() != nil || d.Remaining() > 0 {
		m.t.Fatalf("no trust list: %v", d.Err())
	}
	return data
}

// upload writes a trust list in pieces and closes the file with it.
func (m *managed) upload(c *client.Client, list ua.NodeID, data *ua.TrustListDataType) error {
	m.t.Helper()
	handle := as[uint32](m.t, m.must(c, list, "Open", uint8(6))[0])
	for content := data.AppendTo(nil); len(content) > 0; {
		n := min(700, len(content))
		m.must(c, list, "Write", handle, content[:n])
		content = content[n:]
	}
	_, err := m.call(c, list, "CloseAndUpdate", handle)
	return err
}

func memoryPeer(t *testing.T, uri string) []byte {
	t.Helper()
	s, err := pki.Memory(pki.Config{ApplicationURI: uri})
	if err != nil {
		t.Fatal(err)
	}
	return s.Certificate().DER
}

// The methods answer users with the role SecurityAdmin over channels that sign and encrypt, and tell others
// nothing (Part 12, 7.10.1).
func TestPushIsForAdministratorsOverEncryptedChannels(t *testing.T) {
	m := newManaged(t)
	calls := map[string][]any{
		"ApplyChanges": nil, "CancelChanges": nil, "GetRejectedList": nil,
		"UpdateCertificate":    {appGroup, rsaType, []byte("x"), [][]byte{}, "", []byte{}},
		"CreateSigningRequest": {appGroup, rsaType, "", false, []byte{}},
	}
	listCalls := map[string][]any{
		"Open": {uint8(1)}, "OpenWithMasks": {uint32(15)}, "Close": {uint32(1)}, "Read": {uint32(1), int32(1)}, "Write": {uint32(1), []byte("x")},
		"GetPosition": {uint32(1)}, "SetPosition": {uint32(1), uint64(0)}, "CloseAndUpdate": {uint32(1)},
		"AddCertificate": {[]byte("x"), true}, "RemoveCertificate": {"00", true},
	}
	const encrypt, sign = ua.MessageSecurityModeSignAndEncrypt, ua.MessageSecurityModeSign
	for name, c := range map[string]struct {
		user, policy string
		mode         ua.MessageSecurityMode
		want         map[ua.StatusCode]bool
	}{
		"operator":        {"operator", client.PolicyBasic256Sha256, encrypt, map[ua.StatusCode]bool{ua.BadUserAccessDenied: true}},
		"nobody":          {"", client.PolicyBasic256Sha256, encrypt, map[ua.StatusCode]bool{ua.BadUserAccessDenied: true}},
		"signed only":     {"admin", client.PolicyBasic256Sha256, sign, map[ua.StatusCode]bool{ua.BadSecurityModeInsufficient: true}},
		"nobody, no mode": {"", client.PolicyNone, ua.MessageSecurityModeNone, map[ua.StatusCode]bool{ua.BadUserAccessDenied: true, ua.BadSecurityModeInsufficient: true}},
	} {
		conn := m.connect(c.user, c.policy, c.mode)
		for object, methods := range map[ua.NodeID]map[string][]any{configuration: calls, appList: listCalls} {
			for method, args := range methods {
				if _, err := m.call(conn, object, method, args...); !c.want[ua.StatusOf(err)] {
					t.Errorf("%s calls %s: %v", name, method, err)
				}
			}
		}
	}
}

// A trust list goes out and comes back changed, has no effect before ApplyChanges, and then lets in and turns out.
func TestPushTrustList(t *testing.T) {
	m := newManaged(t)
	c := m.admin()
	stranger, gone := memoryPeer(t, "urn:test:stranger"), memoryPeer(t, "urn:test:gone")
	m.must(c, appList, "AddCertificate", gone, true)
	if err := m.server.PKI().Validate(gone, pki.Check{}); err != nil {
		t.Errorf("AddCertificate: %v", err)
	}
	before := m.read(c, appList)
	if len(before.TrustedCertificates) != 2 || before.SpecifiedLists != 15 {
		t.Fatalf("%d certificates, lists %x", len(before.TrustedCertificates), before.SpecifiedLists)
	}
	m.fails(ua.BadNothingToDo, c, configuration, "ApplyChanges")

	next := &ua.TrustListDataType{SpecifiedLists: uint32(ua.TrustListMasksTrustedCertificates), TrustedCertificates: [][]byte{m.own.Certificate().DER, stranger}}
	if err := m.upload(c, appList, next); err != nil {
		t.Fatal(err)
	}
	if n := len(m.read(c, appList).TrustedCertificates); n != 2 || m.server.PKI().Validate(stranger, pki.Check{}) == nil {
		t.Error("the change took effect before ApplyChanges")
	}
	m.fails(ua.BadTransactionPending, c, appList, "AddCertificate", stranger, true)
	m.fails(ua.BadTransactionPending, m.admin(), appList, "Open", uint8(6))
	m.must(c, configuration, "ApplyChanges")
	if err := m.server.PKI().Validate(stranger, pki.Check{}); err != nil {
		t.Errorf("was to be trusted: %v", err)
	}
	if m.server.PKI().Validate(gone, pki.Check{}) == nil {
		t.Error("is still trusted")
	}
	m.read(c, appList) // the caller is still there

	thumbprint := pki.Item{DER: stranger}
	m.must(c, appList, "RemoveCertificate", thumbprint.Thumbprint(), true)
	m.fails(ua.BadInvalidArgument, c, appList, "RemoveCertificate", thumbprint.Thumbprint(), true)
	rejected := as[[][]byte](t, m.must(c, configuration, "GetRejectedList")[0])
	if len(rejected) == 0 || !bytes.Equal(rejected[0], gone) {
		t.Errorf("%d certificates are rejected, the last is not the newest", len(rejected))
	}

	// Garbage changes nothing, and closes the file.
	for name, data := range map[string]*ua.TrustListDataType{
		"certificate": {SpecifiedLists: 1, TrustedCertificates: [][]byte{[]byte("garbage")}},
		"list":        {SpecifiedLists: 2, TrustedCrls: [][]byte{stranger}},
	} {
		if err := m.upload(c, appList, data); ua.StatusOf(err) != ua.BadCertificateInvalid {
			t.Errorf("garbage as a %s: %v", name, err)
		}
	}
	m.fails(ua.BadNothingToDo, c, configuration, "ApplyChanges")
	handle := as[uint32](t, m.must(c, appList, "Open", uint8(6))[0])
	m.must(c, appList, "Write", handle, []byte{1, 2, 3})
	m.fails(ua.BadDecodingError, c, appList, "CloseAndUpdate", handle)
}

// What is open and what is pending goes with its session, and is bounded.
func TestPushFilesAndChangesAreBounded(t *testing.T) {
	m := newManaged(t)
	c, other := m.admin(), m.admin()
	var handles []uint32
	for range 100 {
		out, err := m.call(c, appList, "Open", uint8(1))
		if err != nil {
			if ua.StatusOf(err) != ua.BadTooManyOperations {
				t.Error(err)
			}
			break
		}
		handles = append(handles, as[uint32](t, out[0]))
	}
	if len(handles) == 0 || len(handles) > 16 {
		t.Fatalf("%d trust lists are open", len(handles))
	}
	m.fails(ua.BadInvalidArgument, other, appList, "Read", handles[0], int32(10))
	m.fails(ua.BadInvalidState, c, appList, "Write", handles[0], []byte("x"))
	m.fails(ua.BadInvalidArgument, c, appList, "Read", handles[0], int32(-1))
	m.fails(ua.BadNotWritable, other, appList, "Open", uint8(6))
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The lists of the session go soon after it.
	deadline := time.Now().Add(5 * time.Second)
	var writing uint32
	for {
		out, err := m.call(other, appList, "Open", uint8(6))
		if err == nil {
			writing = as[uint32](t, out[0])
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the trust lists of a session that is gone: %v", err)
		}
	}
	m.fails(ua.BadNotReadable, other, appList, "Open", uint8(1))
	m.fails(ua.BadNotSupported, other, appList, "Open", uint8(2))
	m.fails(ua.BadInvalidState, other, configuration, "ApplyChanges")
	large := make([]byte, 600<<10)
	m.must(other, appList, "Write", writing, large)
	m.fails(ua.BadEncodingLimitsExceeded, other, appList, "Write", writing, large)
	m.must(other, configuration, "CancelChanges")
	m.fails(ua.BadInvalidArgument, other, appList, "Close", writing)
	m.fails(ua.BadNothingToDo, other, configuration, "CancelChanges")

	data := &ua.TrustListDataType{SpecifiedLists: 1, TrustedCertificates: [][]byte{m.own.Certificate().DER}}
	if err := m.upload(other, appList, data); err != nil {
		t.Fatal(err)
	}
	third := m.admin()
	m.fails(ua.BadTransactionPending, third, appList, "Open", uint8(6))
	m.fails(ua.BadTransactionPending, third, configuration, "ApplyChanges")
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		if _, err := m.call(third, configuration, "ApplyChanges"); ua.StatusOf(err) == ua.BadNothingToDo {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the change of a session that is gone: %v", err)
		}
	}
}

// signed has an authority sign a request of the server.
func signed(t *testing.T, request []byte) (leaf, root []byte) {
	t.Helper()
	csr, err := x509.ParseCertificateRequest(request)
	if err != nil {
		t.Fatal(err)
	}
	key, err := pki.NewKey(pki.RSA, 0)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	if root, err = x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key); err != nil {
		t.Fatal(err)
	}
	leaf, err = x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), RawSubject: csr.RawSubject, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		URIs: csr.URIs, DNSNames: csr.DNSNames, IPAddresses: csr.IPAddresses,
	}, authority, csr.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return leaf, root
}

// The server gets a certificate of an authority for a new key: nothing changes before ApplyChanges, then its
// clients come back to it, and their sessions are still there.
func TestPushUpdatesTheCertificate(t *testing.T) {
	m := newManaged(t)
	c := m.admin()
	old := m.server.PKI().Certificate()
	m.fails(ua.BadInvalidArgument, c, configuration, "CreateSigningRequest", appGroup, rsaType, "", true, []byte("short"))
	m.fails(ua.BadInvalidArgument, c, configuration, "CreateSigningRequest", appGroup, rsaType, "nonsense", false, []byte{})
	m.fails(ua.BadInvalidArgument, c, configuration, "CreateSigningRequest", appList, rsaType, "", false, []byte{})
	request := as[[]byte](t, m.must(c, configuration, "CreateSigningRequest", appGroup, rsaType, "CN=Press 7/O=Acme", true, make([]byte, 32))[0])
	leaf, root := signed(t, request)
	stranger := memoryPeer(t, "urn:test:managed")
	m.fails(ua.BadCertificateInvalid, c, configuration, "UpdateCertificate", appGroup, rsaType, stranger, [][]byte{}, "", []byte{})
	m.fails(ua.BadNotSupported, c, configuration, "UpdateCertificate", appGroup, rsaType, leaf, [][]byte{root}, "PFX", []byte("x"))
	if !as[bool](t, m.must(c, configuration, "UpdateCertificate", appGroup, rsaType, leaf, [][]byte{root}, "", []byte{})[0]) {
		t.Error("needs no ApplyChanges")
	}
	if m.server.PKI().Certificate() != old {
		t.Error("changed before ApplyChanges")
	}
	m.must(c, configuration, "ApplyChanges")
	if !bytes.Equal(m.server.PKI().Certificate().Chain, append(leaf, root...)) {
		t.Error("the certificate is another one")
	}
	// A new client gets a session with the new certificate, which is what the endpoints say.
	late := m.admin()
	out, err := late.Call(t.Context(), configuration, ua.NumericID(0, id.ServerConfigurationType_GetCertificates), appGroup)
	if err != nil {
		t.Fatal(err)
	}
	if ders := as[[][]byte](t, out[1]); len(ders) != 1 || !bytes.Equal(ders[0], leaf) {
		t.Error("GetCertificates gives another certificate")
	}
	endpoints, err := client.Discover(t.Context(), m.url, client.Config{})
	if err != nil || !bytes.HasPrefix(endpoints[0].ServerCertificate, leaf) {
		t.Errorf("GetEndpoints gives another certificate: %v", err)
	}
	again, err := pki.Open(pki.Config{Dir: m.dir})
	if err != nil || !bytes.Equal(again.Certificate().DER, leaf) {
		t.Errorf("the next start has another certificate: %v", err)
	}
}

// A change of which a part cannot be done is not done at all.
func TestPushTakesBackWhatFails(t *testing.T) {
	m := newManaged(t)
	c := m.admin()
	request := as[[]byte](t, m.must(c, configuration, "CreateSigningRequest", appGroup, rsaType, "", false, []byte{})[0])
	leaf, root := signed(t, request)
	stranger := memoryPeer(t, "urn:test:stranger")
	data := &ua.TrustListDataType{SpecifiedLists: 1, TrustedCertificates: [][]byte{m.own.Certificate().DER, stranger}}
	if err := m.upload(c, appList, data); err != nil {
		t.Fatal(err)
	}
	m.must(c, configuration, "UpdateCertificate", appGroup, rsaType, leaf, [][]byte{root}, "", []byte{})
	// A folder in the place of the file cannot be written over, also not by root.
	file := filepath.Join(m.dir, "own", "cert.der")
	if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "full"), 0o755)); err != nil {
		t.Fatal(err)
	}
	old := m.server.PKI().Certificate()
	m.fails(ua.BadTransactionFailed, c, configuration, "ApplyChanges")
	if m.server.PKI().Certificate() != old {
		t.Error("the certificate was changed")
	}
	if n := len(m.read(c, appList).TrustedCertificates); n != 1 || m.server.PKI().Validate(stranger, pki.Check{}) == nil {
		t.Errorf("%d certificates are trusted", n)
	}
	m.fails(ua.BadNothingToDo, c, configuration, "ApplyChanges")
	result, err := c.ReadValue(t.Context(), ua.NumericID(0, id.ServerConfiguration_TransactionDiagnostics_Result))
	if code, _ := ua.As[ua.StatusCode](result.Value); err != nil || code != ua.BadTransactionFailed {
		t.Errorf("the diagnostics say %v, %v", result, err)
	}
}

// Who does not want it leaves it out.
func TestPushCanBeLeftOut(t *testing.T) {
	srv, err := uahive.New(uahive.Config{PKI: "memory", NoPushManagement: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	if srv.Space().Node(ua.NumericID(0, id.ServerConfiguration_ApplyChanges)).Method() != nil {
		t.Error("ApplyChanges does something")
	}
}
