package rawpeer

import (
	"bytes"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// Session is a session as its client sees it. It uses the channel of its Peer,
// which a test may exchange.
type Session struct {
	*Peer
	ID      ua.NodeID
	Token   ua.NodeID
	Nonce   []byte // of the server, for the next activation
	Created *ua.CreateSessionResponse
}

// ApplicationURI is what a peer without a certificate calls itself.
const ApplicationURI = "urn:test:client"

// CreateRequest returns a CreateSession request as a proper client sends it.
func (p *Peer) CreateRequest() *ua.CreateSessionRequest {
	nonce := bytes.Repeat([]byte{7}, 32)
	req := &ua.CreateSessionRequest{
		ClientDescription: ua.ApplicationDescription{ApplicationURI: ApplicationURI, ApplicationType: ua.ApplicationTypeClient},
		EndpointURL:       p.Config.URL, SessionName: "test", ClientNonce: nonce, RequestedSessionTimeout: 600_000,
	}
	if p.Config.Own != nil {
		req.ClientCertificate = p.Config.Own.Certificate().Chain
	}
	return req
}

// CreateSession makes a session that is not activated yet.
func (p *Peer) CreateSession() *Session {
	p.t.Helper()
	return p.CreateSessionWith(p.CreateRequest())
}

// CreateSessionWith is CreateSession with a request of the test's own.
func (p *Peer) CreateSessionWith(req *ua.CreateSessionRequest) *Session {
	p.t.Helper()
	s := &Session{Peer: p}
	resp := Do[*ua.CreateSessionResponse](s, req)
	s.Created, s.ID, s.Token, s.Nonce = resp, resp.SessionID, resp.AuthenticationToken, resp.ServerNonce
	return s
}

// Session makes an activated session of an anonymous user.
func (p *Peer) Session() *Session {
	p.t.Helper()
	s := p.CreateSession()
	if code := s.Activate(&ua.AnonymousIdentityToken{PolicyID: "anonymous"}); code != ua.Good {
		p.t.Fatalf("ActivateSession: %v", code)
	}
	return s
}

// ActivateRequest returns an ActivateSession request with a good signature; a
// nil identity stands for a null token.
func (s *Session) ActivateRequest(identity ua.Structure) *ua.ActivateSessionRequest {
	s.t.Helper()
	req := &ua.ActivateSessionRequest{UserIdentityToken: ua.ObjectOf(identity)}
	if s.Config.Policy.Secure() {
		key, _ := s.ownKey()
		var err error
		req.ClientSignature, err = uasc.SignNonce(s.Config.Policy, key, s.Config.Server.Chain, s.Nonce)
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return req
}

// Activate activates the session on the channel of its Peer and returns the
// service result.
func (s *Session) Activate(identity ua.Structure) ua.StatusCode {
	s.t.Helper()
	return s.ActivateWith(s.ActivateRequest(identity))
}

// ActivateWith is Activate with a request of the test's own.
func (s *Session) ActivateWith(req *ua.ActivateSessionRequest) ua.StatusCode {
	s.t.Helper()
	switch resp := s.Do(req).(type) {
	case *ua.ActivateSessionResponse:
		s.Nonce = resp.ServerNonce
		return resp.ResponseHeader.ServiceResult
	case *ua.ServiceFault:
		return resp.ResponseHeader.ServiceResult
	default:
		s.t.Fatalf("ActivateSession answered with %T", resp)
		return 0
	}
}

// On returns the same session as seen from another channel.
func (s *Session) On(p *Peer) *Session {
	moved := *s
	moved.Peer = p
	return &moved
}

// Start sends a request and returns its request id.
func (s *Session) Start(req ua.Request) uint32 {
	s.t.Helper()
	return s.Send(s.Token, req)
}

// Do sends a request and returns its answer.
func (s *Session) Do(req ua.Request) ua.Structure {
	s.t.Helper()
	return s.Wait(s.Start(req))
}

// Result sends a request and returns the service result of its answer.
func (s *Session) Result(req ua.Request) ua.StatusCode {
	s.t.Helper()
	return s.ResultOf(s.Start(req))
}

// ResultOf waits for an answer and returns its service result.
func (s *Session) ResultOf(requestID uint32) ua.StatusCode {
	s.t.Helper()
	answer := s.Wait(requestID)
	resp, ok := answer.(ua.Response)
	if !ok {
		s.t.Fatalf("%T is no response", answer)
	}
	return resp.Header().ServiceResult
}

// Close closes the session with its subscriptions.
func (s *Session) Close() {
	s.t.Helper()
	Do[*ua.CloseSessionResponse](s, &ua.CloseSessionRequest{DeleteSubscriptions: true})
}

// Do sends a request and returns its answer, which must be of type R and Good.
func Do[R ua.Response](s *Session, req ua.Request) R {
	s.t.Helper()
	return Wait[R](s, s.Start(req))
}

// Wait is Do for a request that was started before.
func Wait[R ua.Response](s *Session, requestID uint32) R {
	s.t.Helper()
	return As[R](s.t, s.Wait(requestID))
}

// As fails the test unless an answer is a Good R.
func As[R ua.Response](t testing.TB, answer ua.Structure) R {
	t.Helper()
	resp, ok := answer.(R)
	if !ok {
		if fault, is := answer.(*ua.ServiceFault); is {
			t.Fatalf("ServiceFault %v instead of %T", fault.ResponseHeader.ServiceResult, resp)
		}
		t.Fatalf("%T instead of %T", answer, resp)
	}
	if code := resp.Header().ServiceResult; code.IsBad() {
		t.Fatalf("%T with %v", resp, code)
	}
	return resp
}
