package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// An identity ends when its token or certificate does: the session goes on for an
// anonymous user, with its subscriptions, or ends where there are none (Part 4,
// 7.40.5 and 7.40.6). A fresh activation before that renews it.
func TestIdentitiesExpire(t *testing.T) {
	shift := func(anonymous bool) func(*uahive.Config) {
		return func(c *uahive.Config) {
			c.Anonymous = anonymous
			c.Authenticate = func(context.Context, uahive.Credentials) (*uahive.User, error) {
				return &uahive.User{Name: "ann", ValidUntil: time.Now().Add(5 * time.Minute)}, nil
			}
		}
	}
	for _, anonymous := range []bool{true, false} {
		inTime(t, func(t *testing.T, w *world) {
			w.variable("v", int32(1))
			s := w.dial().CreateSession()
			expect(t, "activation", s.Activate(named(t, s, "ann", "x")), ua.Good)
			sub := subscribe(s, 1000)
			watch(t, s, sub, monitor(w.node("v"), 1))
			minutes := func(n int) {
				for range n {
					time.Sleep(time.Minute)
					s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}) // keeps the session
				}
			}
			minutes(4)
			expect(t, "renewal", s.Activate(named(t, s, "ann", "x")), ua.Good)
			minutes(4)
			expect(t, "8 minutes after the first activation", writeValue(t, s, w.node("v"), int32(2)), ua.Good)
			time.Sleep(61 * time.Second)
			synctest.Wait()
			got := s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}})
			if !anonymous {
				expect(t, "the session has ended", got, ua.BadSessionIDInvalid)
				return
			}
			expect(t, "the session goes on", got, ua.Good)
			if resp := publish(s); resp.SubscriptionID != sub {
				t.Errorf("%+v", resp)
			}
			// It is nobody's now: on a new channel, the user of before is another one.
			expect(t, "as the same user again", s.Activate(named(t, s, "ann", "x")), ua.Good)
		}, shift(anonymous))
	}
}

// What was not sent as it has to be is refused, also where the program lets everybody
// in: its answer counts for what the server could read and verify.
func TestThreat_U5_WhoeverIsLetIn(t *testing.T) {
	asked := 0
	inTime(t, func(t *testing.T, w *world) {
		s := w.dialWith(w.secure(clientPKI(t, clientKey()), uasc.ModeSignAndEncrypt)).CreateSession()
		policy := named(t, s, "ann", "x").PolicyID
		old := named(t, s, "ann", "x")
		expect(t, "anybody", s.Activate(old), ua.Good)
		for what, token := range map[string]ua.Structure{
			"replayed":     old,
			"garbage":      &ua.UserNameIdentityToken{PolicyID: policy, UserName: "ann", Password: []byte{1, 2, 3}},
			"in the clear": &ua.UserNameIdentityToken{PolicyID: policy, UserName: "ann", Password: []byte("x")},
			"issued":       &ua.IssuedIdentityToken{PolicyID: "issued_basic256sha256", TokenData: []byte("x")},
		} {
			before := asked
			expect(t, what, s.Activate(token), ua.BadIdentityTokenRejected)
			if asked != before+1 {
				t.Errorf("%s: the program was asked %d times", what, asked-before)
			}
		}
	}, func(c *uahive.Config) {
		c.Identities = []uahive.Identity{uahive.UserNames, uahive.IssuedTokens("urn:test:token", "")}
		c.Authenticate = func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			asked++
			if c.Password == "" && len(c.Token) == 0 {
				t.Error("asked about nothing")
			}
			return new(uahive.User), nil
		}
	})
}

// A refused login takes the same time, whatever is wrong with it, and a good one no
// longer than it takes (threats U5 and U6).
func TestThreat_U6_RefusedLoginsTakeOneTime(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.dialWith(w.secure(clientPKI(t, clientKey()), uasc.ModeSignAndEncrypt)).CreateSession()
		policy := named(t, s, "ann", "x").PolicyID
		took := func(token ua.Structure) (ua.StatusCode, time.Duration) {
			start := time.Now()
			code := s.Activate(token)
			return code, time.Since(start)
		}
		for what, token := range map[string]ua.Structure{
			"wrong password": named(t, s, "ann", "wrong"),
			"unknown user":   named(t, s, "nobody", "wrong"),
			"garbage":        &ua.UserNameIdentityToken{PolicyID: policy, UserName: "ann", Password: []byte{1, 2, 3}},
			"in the clear":   &ua.UserNameIdentityToken{PolicyID: policy, UserName: "ann", Password: []byte("secret of ann")},
		} {
			if code, d := took(token); code != ua.BadIdentityTokenRejected || d != 250*time.Millisecond {
				t.Errorf("%s: %v after %v", what, code, d)
			}
		}
		if code, d := took(named(t, s, "ann", "secret of ann")); code != ua.Good || d != 0 {
			t.Errorf("a good login: %v after %v", code, d)
		}
	}, withUsers)
}
