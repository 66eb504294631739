package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/uahive/uahive/pki"
)

// leastDigits of a thumbprint name a certificate.
const leastDigits = 6

// find returns the certificate, or the revocation list, that a word of the command line names: the first one in
// a file, or the one in the folder whose thumbprint begins with it.
func (t *tool) find(word string) (*pki.Item, error) {
	if _, err := os.Stat(word); err == nil {
		ders, err := pki.ReadCertificates(word)
		if err != nil {
			if lists, err := pki.ReadLists(word); err == nil {
				return &pki.Item{Path: word, DER: lists[0], CRL: true}, nil
			}
			return nil, err
		}
		return &pki.Item{Path: word, DER: ders[0]}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	digits := strings.ToLower(strings.ReplaceAll(word, ":", ""))
	if strings.Trim(digits, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("there is no file %s", word)
	}
	if len(digits) < leastDigits {
		return nil, &usageError{fmt.Sprintf("%s: give at least %d digits of the thumbprint", word, leastDigits)}
	}
	items, err := pki.Contents(t.dir)
	if err != nil {
		return nil, err
	}
	var found *pki.Item
	for i := range items {
		it := &items[i]
		if it.DER == nil || !strings.HasPrefix(it.Thumbprint(), digits) {
			continue
		}
		if found != nil && !bytes.Equal(found.DER, it.DER) {
			return nil, fmt.Errorf("more than one thumbprint begins with %s: give more digits", word)
		}
		if found == nil {
			found = it
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no certificate in %s has a thumbprint that begins with %s: uapki list shows them", t.dir, word)
	}
	return found, nil
}
