package client

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

func TestIdentitiesDoNotPrintTheirSecrets(t *testing.T) {
	user := UserName("operator", "hunter2")
	type wrapper struct{ inner any }
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{user, Config{User: user}, wrapper{user}, &wrapper{user}, []Identity{user}} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
				t.Errorf("%s of %T: %s", verb, value, text)
			}
		}
	}
	for want, value := range map[string]any{`UserName("operator", ***)`: user, "Anonymous": Anonymous()} {
		if v, sharp := fmt.Sprint(value), fmt.Sprintf("%#v", value); v != want || sharp != want {
			t.Errorf("%q and %q, want %q", v, sharp, want)
		}
	}
	_, own := peerKeys()
	if text := fmt.Sprintf("%+v", UserCertificate(own.Certificate())); text != fmt.Sprintf("UserCertificate(%x)", own.Certificate().Thumbprint) {
		t.Error(text)
	}
}

// The server learned from the TimeoutHint how long the client waits, so it may
// give up in the same moment; and it may say so in many ways.
func TestDeadlineIsFoundWhoeverNoticesItFirst(t *testing.T) {
	node := ua.NumericID(0, 1)
	answers := map[string]func(r *peerRequest) ua.Structure{
		"none": func(*peerRequest) ua.Structure { return nil },
		"fault": func(*peerRequest) ua.Structure {
			return &ua.ServiceFault{ResponseHeader: ua.ResponseHeader{ServiceResult: ua.BadTimeout}}
		},
		"result": func(r *peerRequest) ua.Structure {
			switch r.name {
			case "Call":
				return &ua.CallResponse{Results: []ua.CallMethodResult{{StatusCode: ua.BadTimeout}}}
			case "Read":
				return &ua.ReadResponse{Results: []ua.DataValue{{Status: ua.BadTimeout}}}
			}
			return &ua.WriteResponse{Results: []ua.StatusCode{ua.BadTimeout}}
		},
	}
	calls := map[string]func(ctx context.Context, c *Client) error{
		"Call":  func(ctx context.Context, c *Client) error { _, err := c.Call(ctx, node, node); return err },
		"Read":  func(ctx context.Context, c *Client) error { _, err := c.ReadValue(ctx, node); return err },
		"Write": func(ctx context.Context, c *Client) error { return c.WriteValue(ctx, node, 1) },
	}
	for name, answer := range answers {
		for service, call := range calls {
			t.Run(service+" "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					p := newPeer(t)
					cfg := p.config()
					cfg.KeepAlive = -1
					c := p.mustConnect(cfg)
					defer c.Close(context.Background())
					p.handle(service, func(r *peerRequest) ua.Structure {
						time.Sleep(time.Duration(r.header.TimeoutHint) * time.Millisecond)
						return answer(r)
					})
					// Not a number of milliseconds, and with a cause of its own.
					ctx, cancel := context.WithTimeoutCause(context.Background(), 3*time.Second+1, errors.New("lunch"))
					defer cancel()
					err := call(ctx, c)
					if !errors.Is(err, context.DeadlineExceeded) || ua.StatusOf(err) != ua.BadTimeout {
						t.Errorf("error %v", err)
					}
					synctest.Wait()
				})
			})
		}
	}
}

// What the server answers for its own reasons stays what it is.
func TestAnswersAreNotBlamedOnTheContext(t *testing.T) {
	over, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	for _, err := range []error{nil, ua.BadUserAccessDenied, &CallError{Status: ua.BadInvalidArgument}} {
		if got := ofContext(over, err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	if got := ofContext(context.Background(), ua.BadTimeout); got != ua.BadTimeout {
		t.Errorf("a time-out of the server became %v", got)
	}
	var call *CallError
	if got := ofContext(over, &CallError{Status: ua.BadTimeout}); !errors.As(got, &call) || !errors.Is(got, context.DeadlineExceeded) {
		t.Errorf("error %v", got)
	}
}

// This is how most first connections end, and the server may not say more.
func TestRefusedClientIsToldWhatToDo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.refuseOpen = &uasc.ErrorMessage{Code: ua.BadSecurityChecksFailed}
		cfg := p.secureConfig()
		_, err := Connect(context.Background(), peerURL, cfg)
		_, own := peerKeys()
		if ua.StatusOf(err) != ua.BadSecurityChecksFailed {
			t.Fatalf("error %v", err)
		}
		for _, want := range []string{"may not trust this client's certificate", fmt.Sprintf("%x", own.Certificate().Thumbprint), "urn:test:client"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in: %v", want, err)
			}
		}
	})
}

func TestClientSaysThatItRefusesTheServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		_, own := peerKeys()
		stranger, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:client", Key: own.Certificate().Key.(*rsa.PrivateKey)})
		if err != nil {
			t.Fatal(err)
		}
		cfg := p.secureConfig()
		cfg.PKI = stranger
		_, err = Connect(context.Background(), peerURL, cfg)
		if err == nil || !strings.Contains(err.Error(), "this client refuses the server's certificate") || !strings.Contains(err.Error(), "Store.Trust") {
			t.Errorf("error %v", err)
		}
	})
}

func TestKindsOfUsersAreNamed(t *testing.T) {
	e := ua.EndpointDescription{UserIdentityTokens: []ua.UserTokenPolicy{
		{TokenType: ua.UserTokenTypeUserName}, {TokenType: ua.UserTokenTypeCertificate}, {TokenType: ua.UserTokenTypeUserName},
	}}
	_, _, err := chooseToken(&e, Anonymous())
	if err == nil || !strings.Contains(err.Error(), "users of kind Anonymous, only Certificate and UserName") {
		t.Errorf("error %v", err)
	}
}

// A client that gives up while its session is activated tells the server, which
// would otherwise keep a session that nobody knows.
func TestSessionOfAFailedConnectIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t)
		p.handle("ActivateSession", func(*peerRequest) ua.Structure { return nil })
		cfg := p.config()
		cfg.ConnectTimeout = 3 * time.Second
		if _, err := Connect(context.Background(), peerURL, cfg); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if n := p.count("CloseSession"); n != 1 {
			t.Errorf("%d sessions were closed", n)
		}
	})
}
