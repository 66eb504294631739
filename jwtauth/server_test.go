package jwtauth

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// A client logs in with a token at a real server, under every security, and is the
// user that the token names.
func TestClientsLogInWithTokens(t *testing.T) {
	k := keys()
	v := verifier(t)
	srv, err := uahive.New(uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", ApplicationURI: audience, PKI: "memory", TrustAll: true, ShutdownDelay: -1,
		Security:   append(uahive.SecurePolicies(), uahive.NoSecurity),
		Identities: []uahive.Identity{v.Identity()}, Authenticate: v.Authenticate,
	})
	if err != nil {
		t.Fatal(err)
	}
	ns := srv.Namespace("urn:test:model")
	uahive.AddMethod(ns.Object("Session"), "Who", func(ctx context.Context, _ struct{}) (out struct{ Name, Group string }, err error) {
		caller, _ := uahive.CallerFrom(ctx)
		out.Name, out.Group = caller.User.Name, caller.User.Groups[0]
		return out, nil
	})
	l, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.ServeListener(context.Background(), l) }()
	t.Cleanup(func() { srv.Close(); <-served })
	own, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:client", Key: k.other})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	good := client.IssuedToken(client.JWTProfile, func(context.Context) (string, error) {
		asked++
		// Long enough for several RSA blocks.
		return sign(t, jwt.SigningMethodRS256, "rsa", k.rsa, claims(func(c jwt.MapClaims) { c["groups"] = []string{"shift 1", strings.Repeat("g", 3000)} })), nil
	})
	expired := client.IssuedToken(client.JWTProfile, func(context.Context) (string, error) {
		return sign(t, jwt.SigningMethodRS256, "rsa", k.rsa, claims(func(c jwt.MapClaims) { c["exp"] = time.Now().Unix() - 5 })), nil
	})
	for _, name := range []string{"None", "Basic256Sha256/Sign", "Aes256_Sha256_RsaPss/SignAndEncrypt"} {
		security, err := client.ParseSecurity(name)
		if err != nil {
			t.Fatal(err)
		}
		config := client.Config{Security: security, User: good, PKI: own, TrustAll: true}
		url := "opc.tcp://" + l.Addr().String()
		c, err := client.Connect(t.Context(), url, config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		out, err := c.Call(t.Context(), ua.StringID(2, "Session"), ua.StringID(2, "Session.Who"))
		if err != nil || len(out) != 2 || !out[0].Equal(ua.VariantOf(issuer+"/ann")) || !out[1].Equal(ua.VariantOf("shift 1")) {
			t.Errorf("%s: %v %v", name, out, err)
		}
		if err := c.ChangeUser(t.Context(), expired); ua.StatusOf(err) != ua.BadIdentityTokenRejected {
			t.Errorf("%s: an expired token: %v", name, err)
		}
		if err := c.ChangeUser(t.Context(), good); err != nil {
			t.Errorf("%s: a fresh token: %v", name, err)
		}
		c.Close(context.Background())
		config.User = client.IssuedToken("urn:other", nil)
		if _, err := client.Connect(t.Context(), url, config); ua.StatusOf(err) != ua.BadIdentityTokenRejected {
			t.Errorf("%s: a token of another type: %v", name, err)
		}
	}
	if asked != 6 {
		t.Errorf("asked %d times for a token", asked)
	}
}
