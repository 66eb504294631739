package jwtauth

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive/internal/fuzzguard"
)

// FuzzSignedClaims signs any header and any claims with a key that the server
// trusts, as an authority would that hands out tokens for others, too, and copies
// into them what its users chose. Whom it is believed about must be told by claims
// that any reader of JSON understands in the same way.
func FuzzSignedClaims(f *testing.F) {
	// A fixed key: signatures are the same in every process.
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	v := verifier(f, func(c *Config) { c.Keys["ed"] = key.Public() })
	const head = `{"alg":"EdDSA","kid":"ed","typ":"JWT"}`
	for _, c := range []string{
		`{"iss":"https://login.plant.example","aud":"urn:test:server","sub":"ann","exp":99999999999,"roles":["operator"],"scp":"read write"}`,
		`{"iss":"https://login.plant.example","aud":["urn:other","urn:test:server"],"sub":"ann","exp":1e11,"nbf":1.5,"iat":0,"groups":"a"}`,
		`{"iss":"https://login.plant.example","aud":"urn:other","sub":"ann","exp":99999999999}`,
		`{"iss":["https://login.plant.example"],"aud":[],"sub":7,"exp":"soon","roles":{"a":1}}`,
		`{"iss":"https://login.plant.example","iss":"x","aud":"urn:test:server","sub":"ann","sub":"bob","exp":99999999999}`,
		`{"iss":"https://login.plant.example","aud":"urn:test:server","sub":"ann","exp":-1e300}`,
		`null`, `[]`, `{}`,
	} {
		f.Add(head, c)
	}
	f.Add(`{"alg":"EdDSA","kid":["ed"]}`, `{}`)
	f.Add(`{"alg":"EdDSA","kid":"ed","crit":["b64"],"b64":false}`, `{"iss":"https://login.plant.example","aud":"urn:test:server","sub":"ann","exp":99999999999}`)
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, header, claims string) {
		enc := base64.RawURLEncoding
		text := enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString([]byte(claims))
		got, err := v.Verify(context.Background(), text+"."+enc.EncodeToString(ed25519.Sign(key, []byte(text))))
		if err != nil {
			if got != nil {
				t.Fatalf("%v with %+v", err, got)
			}
			return
		}
		var c struct {
			Issuer   string          `json:"iss"`
			Audience json.RawMessage `json:"aud"`
			Subject  string          `json:"sub"`
			Expires  float64         `json:"exp"`
		}
		if err := json.Unmarshal([]byte(claims), &c); err != nil {
			t.Fatalf("%v in %s", err, claims)
		}
		var list []string
		if json.Unmarshal(c.Audience, &list) != nil {
			list = make([]string, 1)
			if err := json.Unmarshal(c.Audience, &list[0]); err != nil {
				t.Fatalf("%v in %s", err, claims)
			}
		}
		switch now := time.Now(); {
		case c.Issuer != issuer || got.Issuer != issuer, !slices.Contains(list, audience), c.Subject == "", got.Subject != c.Subject,
			c.Expires < float64(now.Unix()), !got.Expires.After(now):
			t.Fatalf("believed: %+v of %s", got, claims)
		}
	}))
}
