package pki

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigErrorsNameTheirField: a program that embeds the store has fields of its own, to which it leads
// its user from here.
func TestConfigErrorsNameTheirField(t *testing.T) {
	put := func(name string, content []byte) func(string) {
		return func(dir string) {
			ok(t, os.MkdirAll(filepath.Join(dir, "own"), 0o700))
			ok(t, os.WriteFile(filepath.Join(dir, "own", name), content, 0o600))
		}
	}
	withKey := func(name string, content []byte) func(string) {
		return func(dir string) { putOwn(t, dir, ownKey()); put(name, content)(dir) }
	}
	blocked := func(dir string) {
		ok(t, os.WriteFile(filepath.Join(dir, "trusted"), nil, 0o600))
	}
	for _, c := range []struct {
		name, field, value string
		prepare            func(dir string)
		edit               func(*Config)
	}{
		{"no folder", FieldDir, "", nil, func(c *Config) { c.Dir = "" }},
		{"a file in the folder's place", FieldDir, "", blocked, nil},
		{"key size", FieldKeyBits, "1024", nil, func(c *Config) { c.KeyBits = 1024 }},
		{"empty URI", FieldApplicationURI, "", nil, func(c *Config) { c.ApplicationURI = "" }},
		{"URI not ASCII", FieldApplicationURI, "urn:größe", nil, func(c *Config) { c.ApplicationURI = "urn:größe" }},
		{"other URI", FieldApplicationURI, "urn:test:new", withKey("cert.der", ownCert(t)), func(c *Config) { c.ApplicationURI = "urn:test:new" }},
		{"bad key", FieldKey, "key.pem", put("key.pem", []byte("hello")), nil},
		{"two keys", FieldKey, "key.pem", withKey("key.der", []byte("hello")), nil},
		{"no key", FieldKey, "key.pem", put("cert.der", ownCert(t)), nil},
		{"key of another certificate", FieldKey, "key.pem", withKey("cert.der", selfSigned(t)), nil},
		{"bad certificate", FieldCertificate, "cert.der", withKey("cert.der", []byte("hello")), nil},
		{"certificate without URI", FieldCertificate, "cert.der", withKey("cert.der", ownCert(t, setURIs())), nil},
		{"bad host", FieldHosts, "a b", nil, func(c *Config) { c.Hosts = []string{"localhost", "a b"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := ownConfig(t.TempDir())
			if c.prepare != nil {
				c.prepare(cfg.Dir)
			}
			if c.edit != nil {
				c.edit(&cfg)
			}
			_, err := Open(cfg)
			var wrong *ConfigError
			if !errors.As(err, &wrong) {
				t.Fatalf("error %v", err)
			}
			if wrong.Field != c.field || !strings.HasSuffix(wrong.Value, c.value) || wrong.Problem == "" || wrong.Instead == "" {
				t.Errorf("%+v", wrong)
			}
		})
	}
}

func TestHostsAreNamesOrAddresses(t *testing.T) {
	for host, problem := range map[string]string{
		"localhost": "", "plant.example": "", "my_pc-2": "", "192.0.2.1": "", "2001:db8::1": "", "[2001:db8::1]": "",
		"": "empty", "a b": `' '`, "opc.tcp://plant": "scheme", "plant:4840": "port", "[::1]:4840": "port",
		"*.example": "wildcard", "größe.example": "xn--", "plant.": "dots", ".plant": "dots", "a/b": `'/'`,
		strings.Repeat("a", 64): "63", strings.Repeat("a.", 150): "253",
	} {
		got := checkHost(host)
		if (got == "") != (problem == "") || !strings.Contains(got, problem) {
			t.Errorf("%q: %q, want %q", host, got, problem)
		}
	}
	_, err := Memory(Config{ApplicationURI: "urn:test:own", Hosts: []string{"opc.tcp://plant:4840"}, Key: ownKey()})
	if err == nil || !strings.Contains(err.Error(), `Hosts "opc.tcp://plant:4840"`) {
		t.Errorf("error %v", err)
	}
}
