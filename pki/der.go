package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
)

var (
	oidSubjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}
	errNotDER         = errors.New("not a DER certificate")
)

// splitChain cuts the certificates of a blob apart: the leaf, followed by the authorities that the
// sender supplied (Part 6, 6.2.6). It looks at the outermost lengths only.
func splitChain(blob []byte) ([][]byte, error) {
	if len(blob) == 0 {
		return nil, errors.New("no certificate")
	}
	if len(blob) > maxBlob {
		return nil, fmt.Errorf("certificate field has %d bytes, allowed are %d", len(blob), maxBlob)
	}
	var chain [][]byte
	for len(blob) > 0 {
		if len(chain) == maxChain {
			return nil, fmt.Errorf("more than %d certificates in one chain", maxChain)
		}
		n, err := derLen(blob)
		if err != nil {
			return nil, err
		}
		chain = append(chain, blob[:n:n])
		blob = blob[n:]
	}
	return chain, nil
}

// derLen is the length of the SEQUENCE that b begins with, header included. A blob is at most 16 KiB, so
// lengths of three bytes and more cannot be right.
func derLen(b []byte) (int, error) {
	if len(b) < 4 || b[0] != 0x30 {
		return 0, errNotDER
	}
	var n int
	switch {
	case b[1] < 0x80:
		n = 2 + int(b[1])
	case b[1] == 0x81 && b[2] >= 0x80:
		n = 3 + int(b[2])
	case b[1] == 0x82 && b[2] != 0:
		n = 4 + int(b[2])<<8 + int(b[3])
	default:
		return 0, errNotDER
	}
	if n > len(b) {
		return 0, errNotDER
	}
	return n, nil
}

// applicationURIs returns the URIs of the subject alternative name, byte for byte. crypto/x509 offers them
// only as parsed URLs, and two different URIs may print as the same URL.
func applicationURIs(cert *x509.Certificate) ([]string, error) {
	var uris []string
	for _, ext := range cert.Extensions {
		if !ext.Id.Equal(oidSubjectAltName) {
			continue
		}
		var names asn1.RawValue
		rest, err := asn1.Unmarshal(ext.Value, &names)
		if err != nil || len(rest) > 0 || names.Tag != asn1.TagSequence || !names.IsCompound {
			return nil, errors.New("malformed subject alternative name")
		}
		for b := names.Bytes; len(b) > 0; {
			var name asn1.RawValue
			if b, err = asn1.Unmarshal(b, &name); err != nil {
				return nil, errors.New("malformed subject alternative name")
			}
			const uniformResourceIdentifier = 6
			if name.Class == asn1.ClassContextSpecific && name.Tag == uniformResourceIdentifier {
				uris = append(uris, string(name.Bytes))
			}
		}
	}
	return uris, nil
}

// decodeFile returns the DER contents of a file that is either DER itself or holds PEM blocks of one of the
// given types. Blocks of other types, such as a key stored beside its certificate, are skipped.
func decodeFile(content []byte, types ...string) ([][]byte, error) {
	if !bytes.Contains(content, []byte("-----BEGIN ")) {
		return [][]byte{content}, nil
	}
	var found [][]byte
	for rest := content; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		for _, t := range types {
			if block.Type == t {
				found = append(found, block.Bytes)
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no PEM block of type " + strconv.Quote(types[0]))
	}
	return found, nil
}
