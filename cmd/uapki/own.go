package main

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/uahive/uahive/pki"
)

// keyTypes are the types of keys by their names on the command line.
var keyTypes = map[string]pki.KeyType{"rsa": pki.RSA, "nistp256": pki.NistP256, "nistp384": pki.NistP384}

func keyType(name string) (pki.KeyType, error) {
	t, known := keyTypes[strings.ToLower(name)]
	if !known {
		return 0, &usageError{fmt.Sprintf("there is no type of key %q: write rsa, nistP256 or nistP384", name)}
	}
	return t, nil
}

func createFlags(t *tool, f *flag.FlagSet) {
	f.StringVar(&t.uri, "uri", "", "the application's worldwide name, such as urn:acme:press (required)")
	f.StringVar(&t.name, "name", "", "the application's name for people (default: the URI)")
	f.StringVar(&t.hosts, "hosts", "", "names and addresses under which it is reached, separated by commas (default: those of this machine)")
	f.StringVar(&t.types, "types", "rsa", "types of keys, separated by commas: rsa, nistP256, nistP384; rsa is always made")
	f.IntVar(&t.bits, "bits", 2048, "size of the RSA key: 2048, 3072 or 4096")
}

func (t *tool) create(_ []string) error {
	if t.uri == "" {
		return &usageError{"give the application's URI: uapki create -uri urn:acme:press"}
	}
	config := pki.Config{Dir: t.dir, ApplicationURI: t.uri, ApplicationName: t.name, KeyBits: t.bits}
	if t.hosts != "" {
		config.Hosts = strings.Split(t.hosts, ",")
	}
	for _, name := range strings.Split(t.types, ",") {
		kind, err := keyType(name)
		if err != nil {
			return err
		}
		config.KeyTypes = append(config.KeyTypes, kind)
	}
	before, err := t.own()
	if err != nil {
		return err
	}
	s, err := pki.Open(config)
	if err != nil {
		return err
	}
	made := 0
	for _, own := range s.Certificates() {
		if before[own.Thumbprint] {
			continue
		}
		made++
		fmt.Fprintf(t.out, "%x made for %s, %v\n", own.Thumbprint, own.ApplicationURI, own.Type)
	}
	if made == 0 {
		return errors.New("there is a certificate already: for another one of the same key use request and import, or move the files in own away")
	}
	return nil
}

// own are the thumbprints of the certificates that are there.
func (t *tool) own() (map[[20]byte]bool, error) {
	own := map[[20]byte]bool{}
	items, err := pki.Contents(t.dir)
	if errors.Is(err, os.ErrNotExist) {
		return own, nil
	}
	for i := range items {
		if items[i].Folder == "own" && items[i].DER != nil {
			if p, err := pki.Intern(items[i].DER); err == nil {
				own[p.Thumbprint] = true
			}
		}
	}
	return own, err
}

// application opens the folder with the application's own certificates, and makes none.
func (t *tool) application(kind pki.KeyType) (*pki.Store, error) {
	own, err := t.own()
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		return nil, fmt.Errorf("%s has no certificate of the application: make one with uapki create", t.dir)
	}
	s, err := pki.Open(pki.Config{Dir: t.dir, KeyTypes: []pki.KeyType{kind}})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func requestFlags(t *tool, f *flag.FlagSet) {
	f.StringVar(&t.file, "out", "", "the file to write, as PEM (default: standard output)")
	f.StringVar(&t.subject, "name", "", "common name of the subject (default: the subject of the current certificate)")
	f.StringVar(&t.keyType, "type", "rsa", "which of the application's certificates: rsa, nistP256 or nistP384")
}

func (t *tool) request(_ []string) error {
	kind, err := keyType(t.keyType)
	if err != nil {
		return err
	}
	s, err := t.application(kind)
	if err != nil {
		return err
	}
	var subject pkix.RDNSequence
	if t.subject != "" {
		subject = pkix.Name{CommonName: t.subject}.ToRDNSequence()
	}
	der, err := pki.SigningRequest(s.CertificateOf(kind), nil, subject)
	if err != nil {
		return err
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	if t.file == "" {
		_, err = t.out.Write(content)
		return err
	}
	if err := os.WriteFile(t.file, content, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s is written: have it signed, then uapki import\n", t.file)
	return nil
}

// take takes up a signed certificate. Its authorities go along to peers, and complete chains here.
func (t *tool) take(files []string) error {
	var chain [][]byte
	for _, file := range files {
		ders, err := pki.ReadCertificates(file)
		if err != nil {
			return err
		}
		chain = append(chain, ders...)
	}
	leaf, err := pki.Intern(chain[0])
	if err != nil {
		return err
	}
	kind, _ := pki.KeyTypeOf(leaf.Key)
	s, err := t.application(kind)
	if err != nil {
		return err
	}
	if err := s.Renew(bytes.Join(chain, nil), nil); err != nil {
		return fmt.Errorf("%w: give the certificate that was made from this application's request, then its authorities", err)
	}
	for _, der := range chain[1:] {
		if err := s.AddIssuer(der); err != nil {
			return err
		}
	}
	fmt.Fprintf(t.out, "%s is the application's certificate now, with %d authorities\n", leaf.ThumbprintString(), len(chain)-1)
	return nil
}
