package pki

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Item is a certificate or a revocation list in a store's folders, or a file that is neither.
type Item struct {
	// Folder is "own", "trusted", "issuer", "trustedUser", "issuerUser" or "rejected".
	Folder string
	// Path is the file. Several items may be in one.
	Path string
	// CRL says that it is a revocation list.
	CRL bool
	// DER is the certificate or the list. It is nil where the file cannot be used, and Err says why.
	DER []byte
	Err error
}

// Thumbprint is the SHA-1 of DER in hexadecimal, as in logs and file names; empty where there is none.
func (i *Item) Thumbprint() string {
	if i.DER == nil {
		return ""
	}
	sum := sha1.Sum(i.DER)
	return hex.EncodeToString(sum[:])
}

// Contents returns what is in the folders of a store on disk: the application's own certificates first, the
// rejected ones last. Private keys are not looked at. A folder that is missing is empty.
func Contents(dir string) ([]Item, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	var items []Item
	for _, folder := range folders {
		name, kind, _ := strings.Cut(folder, "/")
		entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(folder)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("pki: %w", err)
		}
		if len(entries) > maxListed {
			return nil, fmt.Errorf("pki: %s has more than %d files", folder, maxListed)
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") || entry.IsDir() || name == "own" && !strings.HasPrefix(entry.Name(), "cert") {
				continue
			}
			path := filepath.Join(dir, filepath.FromSlash(folder), entry.Name())
			items = append(items, itemsOf(name, path, kind == "crl")...)
		}
	}
	return items, nil
}

func itemsOf(folder, path string, isCRL bool) []Item {
	ders, err := readItems(path, isCRL, folder == "own")
	if err != nil {
		return []Item{{Folder: folder, Path: path, CRL: isCRL, Err: err}}
	}
	items := make([]Item, len(ders))
	for i, der := range ders {
		items[i] = Item{Folder: folder, Path: path, CRL: isCRL, DER: der}
	}
	return items
}

// readItems reads a file of certificates, or of revocation lists, and checks that it is one. Chains are
// certificates behind each other, as DER.
func readItems(path string, isCRL, chains bool) ([][]byte, error) {
	content, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if isCRL {
		return decodeLists(content)
	}
	return decodeCertificates(content, chains)
}

func decodeLists(content []byte) ([][]byte, error) {
	ders, err := decodeFile(content, "X509 CRL")
	if err != nil {
		return nil, err
	}
	for _, der := range ders {
		if _, err := parseCRL(der); err != nil {
			return nil, err
		}
	}
	return ders, nil
}

func decodeCertificates(content []byte, chains bool) ([][]byte, error) {
	found, err := decodeFile(content, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	var ders [][]byte
	for _, blob := range found {
		chain := [][]byte{blob}
		if chains {
			if chain, err = splitChain(blob); err != nil {
				return nil, err
			}
		}
		for _, der := range chain {
			if _, err := parse(der); err != nil {
				return nil, err
			}
			ders = append(ders, der)
		}
	}
	return ders, nil
}

// ReadCertificates reads a file of certificates, as DER or PEM, one behind the other, and checks that each can
// be used.
func ReadCertificates(path string) ([][]byte, error) {
	ders, err := readItems(path, false, true)
	if err != nil {
		return nil, fmt.Errorf("pki: %s: %w", path, err)
	}
	return ders, nil
}

// ReadLists reads a file of revocation lists, as DER or PEM, and checks that each can be used.
func ReadLists(path string) ([][]byte, error) {
	ders, err := readItems(path, true, false)
	if err != nil {
		return nil, fmt.Errorf("pki: %s: %w", path, err)
	}
	return ders, nil
}
