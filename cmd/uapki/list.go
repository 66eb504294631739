package main

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/uahive/uahive/pki"
)

// soon is how long before its end a certificate is said to expire.
const soon = 30 * 24 * time.Hour

func (t *tool) list(_ []string) error {
	items, err := pki.Contents(t.dir)
	if err != nil {
		return fmt.Errorf("%w: name the folder with -dir, or make it with uapki create", err)
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STORE\tTHUMBPRINT\tEXPIRES\tSTATE\tSUBJECT\tAPPLICATION")
	for i := range items {
		it := &items[i]
		store := it.Folder
		if it.CRL {
			store += "/crl"
		}
		switch {
		case it.Err != nil:
			fmt.Fprintf(w, "%s\t-\t-\tunusable: %s\t%s\t\n", store, clean(it.Err.Error()), it.Path)
		case it.CRL:
			lineOfList(w, store, it)
		default:
			lineOfCertificate(w, store, it)
		}
	}
	return w.Flush()
}

func lineOfCertificate(w *tabwriter.Writer, store string, it *pki.Item) {
	cert, err := x509.ParseCertificate(it.DER)
	if err != nil {
		fmt.Fprintf(w, "%s\t%s\t-\tunusable: %s\t\t\n", store, it.Thumbprint(), clean(err.Error()))
		return
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", store, it.Thumbprint(), cert.NotAfter.Format(time.DateOnly),
		state(cert, time.Now()), clean(cert.Subject.String()), clean(join(cert.URIs)))
}

func lineOfList(w *tabwriter.Writer, store string, it *pki.Item) {
	list, err := x509.ParseRevocationList(it.DER)
	if err != nil {
		fmt.Fprintf(w, "%s\t%s\t-\tunusable: %s\t\t\n", store, it.Thumbprint(), clean(err.Error()))
		return
	}
	due, say := "-", fmt.Sprintf("%d revoked", len(list.RevokedCertificateEntries))
	if !list.NextUpdate.IsZero() {
		due = list.NextUpdate.Format(time.DateOnly)
		if time.Now().After(list.NextUpdate) {
			say += ", out of date"
		}
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\tof %s\t\n", store, it.Thumbprint(), due, say, clean(list.Issuer.String()))
}

// state says what time makes of a certificate, and what it is.
func state(cert *x509.Certificate, now time.Time) string {
	kind := ""
	if cert.IsCA {
		kind = ", authority"
	}
	switch {
	case now.After(cert.NotAfter):
		return "EXPIRED" + kind
	case now.Before(cert.NotBefore):
		return "not yet valid" + kind
	case now.Add(soon).After(cert.NotAfter):
		return fmt.Sprintf("expires in %d days", int(cert.NotAfter.Sub(now).Hours()/24)) + kind
	}
	return "ok" + kind
}

// clean makes text of a stranger's certificate fit for a terminal.
func clean(text string) string {
	const most = 120
	if len(text) > most {
		text = text[:most] + "..."
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

func join(uris []*url.URL) string {
	texts := make([]string, len(uris))
	for i, u := range uris {
		texts[i] = u.String()
	}
	return strings.Join(texts, " and ")
}
