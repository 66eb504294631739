package uahive

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// A configuration mistake names the field, the value, and what to write instead.
func TestConfigMistakes(t *testing.T) {
	for field, config := range map[string]Config{
		"Endpoint":           {Endpoint: "http://x"},
		"Endpoint ":          {Endpoint: "opc.tcp://localhost:99999"},
		"ApplicationURI":     {ApplicationURI: "no uri"},
		"Security":           {Security: []Security{}},
		"Security[0]":        {Security: []Security{{}}},
		"Security[1]":        {Security: []Security{NoSecurity, NoSecurity}},
		"Workers":            {Workers: -1},
		"ApplicationURI ":    {ApplicationURI: "urn:fußbad:press"},
		"Hosts":              {Hosts: []string{"http://x"}},
		"Limits.Sessions":    {Limits: Limits{Sessions: -1}},
		"Limits.MaxMessage":  {Limits: Limits{MaxMessage: 100}},
		"Limits.ArrayLength": {Limits: Limits{ArrayLength: -1}},
	} {
		config.PKI = "memory"
		_, err := New(config)
		var wrong *ConfigError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", field, err)
			continue
		}
		if wrong.Field != strings.TrimSpace(field) || wrong.Instead == "" {
			t.Errorf("%s: reported as %q", field, err)
		}
	}
}

// Clients are told a name, not a wildcard, and the port that is really used.
func TestEndpointURL(t *testing.T) {
	bound := &net.TCPAddr{IP: net.IPv4zero, Port: 4999}
	for endpoint, want := range map[string]string{
		"opc.tcp://plant.example:4840/x": "opc.tcp://plant.example:4999/x",
		"opc.tcp://[::1]:0":              "opc.tcp://[::1]:4999",
	} {
		c := Config{Endpoint: endpoint}
		if got := c.endpointURL(bound); got != want {
			t.Errorf("%s: %s, want %s", endpoint, got, want)
		}
	}
	for _, endpoint := range []string{"opc.tcp://:4840", "opc.tcp://0.0.0.0:4840", "opc.tcp://[::]:4840"} {
		c := Config{Endpoint: endpoint}
		if got := c.endpointURL(bound); strings.Contains(got, "0.0.0.0") || strings.Contains(got, "[::]") || strings.Contains(got, "//:") {
			t.Errorf("%s: clients are told %s", endpoint, got)
		}
	}
}

func TestListenAddress(t *testing.T) {
	for endpoint, want := range map[string]string{
		"opc.tcp://:4841": ":4841", "opc.tcp://localhost": "localhost:4840", "opc.tcp://[::1]:5": "[::1]:5",
	} {
		c := Config{Endpoint: endpoint}
		if got := c.listenAddress(); got != want {
			t.Errorf("%s: %s, want %s", endpoint, got, want)
		}
	}
}
