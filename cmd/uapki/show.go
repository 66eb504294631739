package main

import (
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/uahive/uahive/pki"
)

func roleFlags(t *tool, f *flag.FlagSet) {
	f.BoolVar(&t.asUser, "user", false, "judge it as that of a user")
	f.BoolVar(&t.asServer, "server", false, "judge it as that of a server, as clients do")
}

// errUnacceptable makes the exit code 1; what is wrong has been shown.
var errUnacceptable = errors.New("this certificate would be refused")

func (t *tool) show(words []string) error {
	if len(words) > 1 {
		return &usageError{"show takes one certificate"}
	}
	it, err := t.find(words[0])
	if err != nil {
		return err
	}
	if it.CRL {
		return t.showList(it)
	}
	cert, err := x509.ParseCertificate(it.DER)
	if err != nil {
		return err
	}
	row := func(what, value string) { fmt.Fprintf(t.out, "%-14s %s\n", what, value) }
	row("file", clean(it.Path))
	row("thumbprint", it.Thumbprint())
	row("subject", clean(cert.Subject.String()))
	row("issuer", clean(cert.Issuer.String()))
	row("serial", fmt.Sprintf("%x", cert.SerialNumber))
	row("application", clean(join(cert.URIs)))
	hosts := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	row("hosts", clean(strings.Join(hosts, ", ")))
	row("valid", cert.NotBefore.Format(time.DateTime)+" to "+cert.NotAfter.Format(time.DateTime)+", "+state(cert, time.Now()))
	row("key", fmt.Sprintf("%v, signed with %v", cert.PublicKeyAlgorithm, cert.SignatureAlgorithm))
	if it.Folder == "own" {
		row("state", "the application's own certificate")
		return nil
	}
	return t.verdict(it)
}

// verdict says what a program that uses this folder would say. A file may hold a chain, as a peer sends it.
func (t *tool) verdict(it *pki.Item) error {
	if _, err := os.Stat(t.dir); err != nil {
		fmt.Fprintf(t.out, "%-14s %s\n", "state", "unknown, there is no folder "+t.dir)
		return nil
	}
	s, err := t.open()
	if err != nil {
		return err
	}
	leaf, err := pki.Intern(it.DER)
	if err != nil {
		return err
	}
	check := pki.Check{Use: pki.UseClient}
	switch {
	case t.asUser:
		check.Use = pki.UseUser
	case t.asServer:
		check.Use = pki.UseServer
	}
	err = s.Recheck(leaf, check)
	var refused *pki.Error
	switch {
	case err == nil:
		fmt.Fprintf(t.out, "%-14s %s\n", "state", "acceptable")
		return nil
	case errors.As(err, &refused):
		fmt.Fprintf(t.out, "%-14s %s\n", "state", fmt.Sprintf("refused, %v: %s", refused.Detail, clean(refused.Reason)))
		fmt.Fprintf(t.out, "%-14s %v\n", "peer is told", refused.Status)
	}
	return errUnacceptable
}

func (t *tool) showList(it *pki.Item) error {
	list, err := x509.ParseRevocationList(it.DER)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "revocation list %s of %s\n", it.Thumbprint(), clean(list.Issuer.String()))
	fmt.Fprintf(t.out, "made %s, next %s\n", list.ThisUpdate.Format(time.DateTime), list.NextUpdate.Format(time.DateTime))
	for i := range list.RevokedCertificateEntries {
		e := &list.RevokedCertificateEntries[i]
		fmt.Fprintf(t.out, "%x revoked %s\n", e.SerialNumber, e.RevocationTime.Format(time.DateTime))
	}
	return nil
}
