package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/uahive/uahive/pki"
)

func trustFlags(t *tool, f *flag.FlagSet) {
	f.BoolVar(&t.asUser, "user", false, "it is the certificate of a user, or of an authority of users")
	f.BoolVar(&t.asIssuer, "issuer", false, "it is an authority that completes chains, and gives no trust by itself")
}

// each runs do for every certificate that is named.
func (t *tool) each(words []string, do func(s *pki.Store, it *pki.Item) error) error {
	s, err := t.open()
	if err != nil {
		return err
	}
	for _, word := range words {
		it, err := t.find(word)
		if err != nil {
			return err
		}
		if it.Folder == "own" {
			return fmt.Errorf("%s is the application's own certificate", it.Thumbprint())
		}
		if err := do(s, it); err != nil {
			return err
		}
	}
	return nil
}

func (t *tool) trust(words []string) error {
	if t.asUser && t.asIssuer {
		return &usageError{"-user and -issuer cannot be together: authorities of users that give no trust are put into issuerUser/certs by hand"}
	}
	return t.each(words, func(s *pki.Store, it *pki.Item) error {
		if it.CRL {
			return fmt.Errorf("%s is a revocation list: uapki crl takes it", it.Path)
		}
		add, what := s.Trust, "is trusted"
		switch {
		case t.asUser:
			add, what = s.TrustUser, "is trusted as a user"
		case t.asIssuer:
			add, what = s.AddIssuer, "is known as an issuer"
		}
		if err := add(it.DER); err != nil {
			return err
		}
		s.Forget(it.DER)
		fmt.Fprintf(t.out, "%s %s\n", it.Thumbprint(), what)
		return nil
	})
}

func (t *tool) reject(words []string) error {
	return t.each(words, func(s *pki.Store, it *pki.Item) error {
		if it.CRL {
			return errors.New("a revocation list is not rejected: uapki remove takes it away")
		}
		found, err := s.Reject(it.DER)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("%s is in no trust list", it.Thumbprint())
		}
		fmt.Fprintf(t.out, "%s is rejected\n", it.Thumbprint())
		return nil
	})
}

func (t *tool) remove(words []string) error {
	return t.each(words, func(s *pki.Store, it *pki.Item) error {
		found, err := s.Remove(it.DER)
		if err != nil {
			return err
		}
		before := s.Rejected()
		s.Forget(it.DER)
		if !found && s.Rejected() == before {
			return fmt.Errorf("%s is not in %s", it.Thumbprint(), t.dir)
		}
		fmt.Fprintf(t.out, "%s is removed\n", it.Thumbprint())
		return nil
	})
}

func (t *tool) crl(files []string) error {
	s, err := t.open()
	if err != nil {
		return err
	}
	for _, file := range files {
		lists, err := pki.ReadLists(file)
		if err != nil {
			return err
		}
		for _, der := range lists {
			if err := s.AddCRL(der); err != nil {
				return err
			}
			it := pki.Item{DER: der}
			fmt.Fprintf(t.out, "%s is added\n", it.Thumbprint())
		}
	}
	return nil
}
