package sessionactor

import (
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

func testEndpoints() *Endpoints {
	return &Endpoints{
		URL: "opc.tcp://plant:4840/path", Certificate: func(*uasc.Policy) []byte { return []byte{1} },
		Profiles: []Profile{
			{uasc.Basic256Sha256, uasc.ModeSignAndEncrypt},
			{uasc.Basic256Sha256, uasc.ModeSign},
			{uasc.Aes256Sha256RsaPss, uasc.ModeSignAndEncrypt},
			{uasc.PolicyNone, uasc.ModeNone},
		},
		Anonymous: true, Identities: []Identity{{Kind: UserName}},
	}
}

// The address of an endpoint is the one that the client used to reach it,
// behind NAT, in a container or over IPv6; the path is the server's own.
func TestEndpointAddressIsTheClients(t *testing.T) {
	long := "opc.tcp://" + strings.Repeat("a", 5000) + ":4840"
	for _, c := range []struct{ asked, dialed, want string }{
		{"opc.tcp://10.0.0.7:14840", "opc.tcp://other:1", "opc.tcp://10.0.0.7:14840/path"},
		{"", "opc.tcp://nat.example:555/x", "opc.tcp://nat.example:555/path"},
		{"opc.tcp://[fe80::1]:4841", "", "opc.tcp://[fe80::1]:4841/path"},
		{"opc.tcp://[::1]", "", "opc.tcp://[::1]:4840/path"},
		{"opc.tcp://host", "", "opc.tcp://host:4840/path"},
		{"http://host:80", "", "opc.tcp://plant:4840/path"},
		{"opc.tcp://", "", "opc.tcp://plant:4840/path"},
		{"%zz", "\x00", "opc.tcp://plant:4840/path"},
		{long, "", "opc.tcp://plant:4840/path"},
	} {
		if got := testEndpoints().address(c.asked, c.dialed); got != c.want {
			t.Errorf("asked %.40q, dialled %q: %q, want %q", c.asked, c.dialed, got, c.want)
		}
	}
}

// Security levels rank encryption above signing and None last (Part 4, 7.14).
func TestSecurityLevelsRankProfiles(t *testing.T) {
	list := testEndpoints().Descriptions("", "")
	byName := map[string]uint8{}
	for _, e := range list {
		byName[e.SecurityPolicyURI[strings.IndexByte(e.SecurityPolicyURI, '#')+1:]+"/"+e.SecurityMode.String()] = e.SecurityLevel
	}
	order := []string{
		"None/None", "Basic256Sha256/Sign", "Basic256Sha256/SignAndEncrypt", "Aes256_Sha256_RsaPss/SignAndEncrypt",
	}
	for i := 1; i < len(order); i++ {
		if byName[order[i-1]] >= byName[order[i]] {
			t.Errorf("%s has level %d, %s has %d", order[i-1], byName[order[i-1]], order[i], byName[order[i]])
		}
	}
	if byName["None/None"] != 0 {
		t.Error("None is recommended")
	}
}

// A password is never asked for in the clear: the token policy of an endpoint
// without security names one that encrypts (Part 4, 7.41).
func TestUserNameTokensAlwaysHaveAnEncryptingPolicy(t *testing.T) {
	for _, e := range testEndpoints().Descriptions("", "") {
		seen := map[ua.UserTokenType]bool{}
		for _, p := range e.UserIdentityTokens {
			seen[p.TokenType] = true
			if p.TokenType != ua.UserTokenTypeUserName {
				continue
			}
			if policy, ok := uasc.PolicyByURI(p.SecurityPolicyURI); !ok || !policy.Secure() {
				t.Errorf("%s: token policy %q", e.SecurityPolicyURI, p.SecurityPolicyURI)
			}
		}
		if !seen[ua.UserTokenTypeAnonymous] || !seen[ua.UserTokenTypeUserName] {
			t.Errorf("%s offers %v", e.SecurityPolicyURI, seen)
		}
	}
}
