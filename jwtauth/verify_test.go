package jwtauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

const (
	issuer   = "https://login.plant.example"
	audience = "urn:test:server"
)

// keys are made once: an RSA key takes its time.
var keys = sync.OnceValue(func() (k struct {
	rsa, other *rsa.PrivateKey
	ec         *ecdsa.PrivateKey
	ed         ed25519.PrivateKey
},
) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	var err error
	k.rsa, err = rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	k.other, err = rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	k.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	_, k.ed, err = ed25519.GenerateKey(rand.Reader)
	must(err)
	return k
})

func publicKeys() map[string]crypto.PublicKey {
	k := keys()
	return map[string]crypto.PublicKey{"rsa": &k.rsa.PublicKey, "ec": &k.ec.PublicKey, "ed": k.ed.Public()}
}

func verifier(t testing.TB, change ...func(*Config)) *Verifier {
	t.Helper()
	c := Config{Issuer: issuer, Audience: audience, Keys: publicKeys()}
	for _, f := range change {
		f(&c)
	}
	v, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// claims are those of a good token.
func claims(change ...func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": issuer, "aud": audience, "sub": "ann", "name": "Ann", "exp": time.Now().Add(time.Hour).Unix(),
		"roles": []string{"operator", "engineer"}, "groups": []string{"shift 1"}, "scp": "read",
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func sign(t testing.TB, method jwt.SigningMethod, kid any, key any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	if kid != nil {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestGoodTokensAreBelieved(t *testing.T) {
	k := keys()
	v := verifier(t)
	for method, key := range map[jwt.SigningMethod]struct {
		kid string
		key any
	}{
		jwt.SigningMethodRS256: {"rsa", k.rsa}, jwt.SigningMethodRS512: {"rsa", k.rsa}, jwt.SigningMethodPS256: {"rsa", k.rsa},
		jwt.SigningMethodES256: {"ec", k.ec}, jwt.SigningMethodEdDSA: {"ed", k.ed},
	} {
		got, err := v.Verify(t.Context(), sign(t, method, key.kid, key.key, claims()))
		if err != nil {
			t.Errorf("%s: %v", method.Alg(), err)
			continue
		}
		if got.Subject != "ann" || got.Issuer != issuer || got.Name != "Ann" || strings.Join(got.Roles, ",") != "operator,engineer" ||
			strings.Join(got.Groups, ",") != "shift 1" || strings.Join(got.Scopes, ",") != "read" || time.Until(got.Expires) > time.Hour {
			t.Errorf("%s: %+v", method.Alg(), got)
		}
	}
	for what, change := range map[string]func(jwt.MapClaims){
		"one of several audiences": func(c jwt.MapClaims) { c["aud"] = []string{"urn:other", audience} },
		"from now on":              func(c jwt.MapClaims) { c["nbf"] = time.Now().Unix() },
		"a clock that is ahead":    func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(20 * time.Second).Unix() },
		"no roles":                 func(c jwt.MapClaims) { delete(c, "roles") },
		"roles of odd types":       func(c jwt.MapClaims) { c["roles"] = []any{"a", 1, nil, map[string]any{}} },
	} {
		if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodRS256, "rsa", k.rsa, claims(change))); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What is wrong with a token is found, whatever it is, and the error does not hold
// it (threats U5 and U9).
func TestThreat_U5_ForgedTokens(t *testing.T) {
	k := keys()
	v := verifier(t)
	good := sign(t, jwt.SigningMethodRS256, "rsa", k.rsa, claims())
	der, err := x509.MarshalPKIXPublicKey(&k.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(jwt.MapClaims)) string {
		return sign(t, jwt.SigningMethodRS256, "rsa", k.rsa, claims(change))
	}
	parts := strings.Split(good, ".")
	evil := strings.Split(sign(t, jwt.SigningMethodRS256, "rsa", k.other, claims(func(c jwt.MapClaims) { c["sub"] = "admin" })), ".")
	bad := map[string]string{
		"nothing": "", "garbage": "garbage", "dots": "..", "many dots": strings.Repeat(".", 1000), "NUL": "\x00.\x00.\x00",
		"none":                              sign(t, jwt.SigningMethodNone, "rsa", jwt.UnsafeAllowNoneSignatureType, claims()),
		"none with signature":               sign(t, jwt.SigningMethodNone, "rsa", jwt.UnsafeAllowNoneSignatureType, claims()) + parts[2],
		"HS256 with the DER of the key":     sign(t, jwt.SigningMethodHS256, "rsa", der, claims()),
		"HS256 with the modulus of the key": sign(t, jwt.SigningMethodHS256, "rsa", k.rsa.N.Bytes(), claims()),
		"HS256 with nothing":                sign(t, jwt.SigningMethodHS256, "rsa", []byte{}, claims()),
		"another's key":                     sign(t, jwt.SigningMethodRS256, "rsa", k.other, claims()),
		"unknown key id":                    sign(t, jwt.SigningMethodRS256, "rsa2", k.rsa, claims()),
		"no key id":                         sign(t, jwt.SigningMethodRS256, nil, k.rsa, claims()),
		"key id of another kind":            sign(t, jwt.SigningMethodRS256, "ec", k.rsa, claims()),
		"key id that is a number":           sign(t, jwt.SigningMethodRS256, 1, k.rsa, claims()),
		"key id that is a list":             sign(t, jwt.SigningMethodRS256, []string{"rsa"}, k.rsa, claims()),
		"long key id":                       sign(t, jwt.SigningMethodRS256, strings.Repeat("x", 10_000), k.rsa, claims()),
		"other payload":                     parts[0] + "." + evil[1] + "." + parts[2],
		"other header":                      strings.Split(sign(t, jwt.SigningMethodPS256, "rsa", k.rsa, claims()), ".")[0] + "." + parts[1] + "." + parts[2],
		"no signature":                      parts[0] + "." + parts[1] + ".", "two parts": parts[0] + "." + parts[1], "four parts": good + ".x",
		"cut": good[:len(good)-1], "longer": good + "AA", "padded": good + "==", "in blanks": " " + good,
		"too long":                  with(func(c jwt.MapClaims) { c["x"] = strings.Repeat("x", 20_000) }),
		"another issuer":            with(func(c jwt.MapClaims) { c["iss"] = issuer + "/" }),
		"no issuer":                 with(func(c jwt.MapClaims) { delete(c, "iss") }),
		"another audience":          with(func(c jwt.MapClaims) { c["aud"] = "urn:test:server2" }),
		"part of the audience":      with(func(c jwt.MapClaims) { c["aud"] = "urn:test" }),
		"other audiences":           with(func(c jwt.MapClaims) { c["aud"] = []string{"urn:a", "urn:b"} }),
		"no audience":               with(func(c jwt.MapClaims) { delete(c, "aud") }),
		"an audience of odd type":   with(func(c jwt.MapClaims) { c["aud"] = 7 }),
		"expired":                   with(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Hour).Unix() }),
		"expired a moment ago":      with(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Second).Unix() }),
		"no expiry":                 with(func(c jwt.MapClaims) { delete(c, "exp") }),
		"an expiry of odd type":     with(func(c jwt.MapClaims) { c["exp"] = "tomorrow" }),
		"not valid yet":             with(func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() }),
		"no subject":                with(func(c jwt.MapClaims) { delete(c, "sub") }),
		"an empty subject":          with(func(c jwt.MapClaims) { c["sub"] = "" }),
		"a subject of odd type":     with(func(c jwt.MapClaims) { c["sub"] = []string{"ann"} }),
		"an infinite, negative exp": with(func(c jwt.MapClaims) { c["exp"] = -1e300 }),
	}
	for what, token := range bad {
		got, err := v.Verify(t.Context(), token)
		if err == nil {
			t.Errorf("%s is believed: %+v", what, got)
			continue
		}
		if len(token) > 40 && (strings.Contains(err.Error(), token[len(token)-20:]) || strings.Contains(err.Error(), "ann")) || len(err.Error()) > 200 {
			t.Errorf("%s: the error says too much: %v", what, err)
		}
	}
	if _, err := verifier(t, func(c *Config) { c.Algorithms = []string{"ES256"} }).Verify(t.Context(), good); err == nil {
		t.Error("an algorithm is believed that is not allowed")
	}
}

// The key is asked by its id, and a key that is too weak does not count.
func TestKeysByFunction(t *testing.T) {
	k := keys()
	asked, failing := "", errors.New("issuer is away")
	v := verifier(t, func(c *Config) {
		c.Keys = nil
		c.Key = func(ctx context.Context, kid string) (crypto.PublicKey, error) {
			asked = kid
			switch kid {
			case "now":
				return &k.rsa.PublicKey, ctx.Err()
			case "secret":
				return []byte("secret"), nil
			case "null":
				return nil, nil
			}
			return nil, failing
		}
	})
	if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodRS256, "now", k.rsa, claims())); err != nil || asked != "now" {
		t.Errorf("asked for %q: %v", asked, err)
	}
	for _, kid := range []any{"away", "secret", "null", nil} {
		if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodRS256, kid, k.rsa, claims())); err == nil {
			t.Errorf("%v is believed", kid)
		}
	}
	if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodHS256, "secret", []byte("secret"), claims())); err == nil {
		t.Error("a shared secret is believed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Verify(ctx, sign(t, jwt.SigningMethodRS256, "now", k.rsa, claims())); err == nil {
		t.Error("a key is used that came with an error")
	}
}

func TestConfigMistakesAreReported(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Config){
		"jwtauth.Issuer":          func(c *Config) { c.Issuer = "" },
		"jwtauth.Audience":        func(c *Config) { c.Audience = "" },
		"jwtauth.Keys":            func(c *Config) { c.Keys = nil },
		"jwtauth.Keys both":       func(c *Config) { c.Key = func(context.Context, string) (crypto.PublicKey, error) { return nil, nil } },
		"jwtauth.Keys weak":       func(c *Config) { c.Keys = map[string]crypto.PublicKey{"a": &weak.PublicKey} },
		"jwtauth.Keys text":       func(c *Config) { c.Keys = map[string]crypto.PublicKey{"a": []byte("secret")} },
		"jwtauth.Keys nil":        func(c *Config) { c.Keys = map[string]crypto.PublicKey{"a": (*rsa.PublicKey)(nil)} },
		"jwtauth.Keys priv":       func(c *Config) { c.Keys = map[string]crypto.PublicKey{"a": keys().rsa} },
		"jwtauth.Algorithms":      func(c *Config) { c.Algorithms = []string{} },
		"jwtauth.Algorithms none": func(c *Config) { c.Algorithms = []string{"RS256", "none"} },
		"jwtauth.Algorithms HS":   func(c *Config) { c.Algorithms = []string{"HS256"} },
	} {
		c := Config{Issuer: issuer, Audience: audience, Keys: maps.Clone(publicKeys())}
		change(&c)
		_, err := New(c)
		var wrong *uahive.ConfigError
		field, _, _ := strings.Cut(what, " ")
		if !errors.As(err, &wrong) || wrong.Field != field || wrong.Instead == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Clients read where to get a token from a JSON object (Part 6, 6.5.2.2).
func TestIssuerEndpointURL(t *testing.T) {
	v := verifier(t, func(c *Config) { c.TokenEndpoint, c.Scopes = "/token", []string{"UAServer"} })
	var got map[string]any
	if err := json.Unmarshal([]byte(v.issuer), &got); err != nil {
		t.Fatal(err)
	}
	if got["ua:resourceId"] != audience || got["ua:authorityUrl"] != issuer || got["ua:authorityProfileUri"] != oauth2 ||
		got["ua:tokenEndpoint"] != "/token" || len(got["ua:scopes"].([]any)) != 1 {
		t.Errorf("%v", got)
	}
	if _, there := got["ua:requestTypes"]; there {
		t.Error("what was not given is there")
	}
}

// Only tokens are decided about, and the program's roles are given.
func TestAuthenticate(t *testing.T) {
	k := keys()
	role := ua.NumericID(0, 15680)
	v := verifier(t, func(c *Config) {
		c.Roles = func(c *Claims) []ua.NodeID {
			if c.Roles[0] == "operator" {
				return []ua.NodeID{role}
			}
			return nil
		}
	})
	token := []byte(sign(t, jwt.SigningMethodES256, "ec", k.ec, claims()))
	user, err := v.Authenticate(t.Context(), uahive.Credentials{Kind: uahive.TokenUser, TokenType: uahive.JWTProfile, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	if user.Name != issuer+"/ann" || !user.HasRole(role) || user.Groups[0] != "shift 1" || user.Claims[1] != "engineer" ||
		user.ValidUntil.IsZero() || user.Data.(*Claims).Subject != "ann" {
		t.Errorf("%+v", user)
	}
	for _, c := range []uahive.Credentials{
		{Kind: uahive.NamedUser, UserName: "ann", Password: string(token)},
		{Kind: uahive.AnonymousUser, Token: token},
		{Kind: uahive.CertificateUser, Token: token},
		{Kind: uahive.TokenUser, TokenType: "urn:other", Token: token},
		{Kind: uahive.TokenUser, TokenType: uahive.JWTProfile},
	} {
		if user, err := v.Authenticate(t.Context(), c); err == nil || user != nil {
			t.Errorf("%v is let in", c)
		}
	}
}

func FuzzVerify(f *testing.F) {
	k := keys()
	v := verifier(f)
	f.Add(sign(f, jwt.SigningMethodES256, "ec", k.ec, claims(func(c jwt.MapClaims) { c["iss"] = "x" })))
	f.Add(sign(f, jwt.SigningMethodNone, "rsa", jwt.UnsafeAllowNoneSignatureType, claims()))
	f.Add(sign(f, jwt.SigningMethodHS256, "rsa", []byte("x"), claims()))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, token string) {
		if got, err := v.Verify(context.Background(), token); err == nil {
			t.Fatalf("believed: %+v", got)
		}
	}))
}
