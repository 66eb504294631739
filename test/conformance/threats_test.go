package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// Chunks of two requests may not be mixed, and a message that its sender gives up
// is dropped on a channel that goes on (Part 6, 6.7.2 and 6.7.3). Threats S2 to S4.
func TestUnfinishedMessages(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		mixed := w.dial()
		mixed.Write(chunk(mixed, 'C', 100, 1))
		mixed.Write(chunk(mixed, 'C', 100, 2))
		if code := mixed.Refusal(); !code.IsBad() {
			t.Errorf("mixed chunks: %v", code)
		}

		s := w.session()
		for range 5 {
			s.Write(chunk(s.Peer, 'C', 60_000, 50))
			abort := chunk(s.Peer, 'A', 24+8, 50)
			binary.LittleEndian.PutUint32(abort[24:], uint32(ua.BadRequestTooLarge))
			binary.LittleEndian.PutUint32(abort[28:], 0xFFFF_FFFF)
			s.Write(abort)
			readValue(s, serverNode)
			synctest.Wait()
			if n := w.Stats().Channels.AssemblyBytes; n != 0 {
				t.Errorf("%d bytes are held of a message that was given up", n)
			}
		}

		// A renewal between the chunks of a request does not hurt it.
		body := s.Prepare(s.Token, &ua.ReadRequest{NodesToRead: slices.Repeat([]ua.ReadValueID{valueOf(serverNode)}, 5000)})
		dst, mark := s.Layout.Begin(nil)
		id := s.NextID()
		frames, err := s.Layout.End(append(dst, body...), mark, uasc.TypeMessage, id)
		if err != nil {
			t.Fatal(err)
		}
		first := binary.LittleEndian.Uint32(frames[4:])
		if int(first) == len(frames) {
			t.Fatal("the request is one chunk")
		}
		if err := s.Sealer.SealAll(frames[:first]); err != nil {
			t.Fatal(err)
		}
		s.Write(frames[:first])
		token := s.Open(ua.SecurityTokenRequestTypeRenew)
		s.Use(token)
		if err := s.Sealer.SealAll(frames[first:]); err != nil {
			t.Fatal(err)
		}
		s.Write(frames[first:])
		if n := len(rawpeer.Wait[*ua.ReadResponse](s, id).Results); n != 5000 {
			t.Errorf("%d results", n)
		}

		// Who goes away in the middle leaves nothing behind.
		for range 100 {
			p := w.dial()
			p.Write(chunk(p, 'C', 60_000, 1))
			p.Conn.Close()
		}
		synctest.Wait()
		if n := w.Stats().Channels.AssemblyBytes; n != 0 {
			t.Errorf("%d bytes are left", n)
		}
	})
}

// A channel is renewed by its own client with its own certificate, policy and
// mode, and opened with what the server offers (Part 4, 5.6.2). Threats S9, S12
// and S16.
func TestThreat_S9_OpenSecureChannelWithSecurity(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own, stranger := clientPKI(t, clientKey()), clientPKI(t, strangerKey())
		good := w.secure(own, uasc.ModeSignAndEncrypt)
		request := func(p *rawpeer.Peer, kind ua.SecurityTokenRequestType) *ua.OpenSecureChannelRequest {
			return &ua.OpenSecureChannelRequest{
				RequestType: kind, SecurityMode: ua.MessageSecurityMode(p.Config.Mode), ClientNonce: p.Config.Policy.Nonce(), RequestedLifetime: 60_000,
			}
		}
		renew := func(bend func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest)) ua.StatusCode {
			p := w.dialWith(good)
			r := request(p, ua.SecurityTokenRequestTypeRenew)
			bend(p, r)
			p.Write(p.SealOpen(r))
			return p.Refusal()
		}
		for what, row := range map[string]struct {
			bend func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest)
			want []ua.StatusCode
		}{
			"another mode": {func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest) { r.SecurityMode = ua.MessageSecurityModeSign }, []ua.StatusCode{ua.BadSecurityModeRejected}},
			"another policy": {
				func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest) { p.Config.Policy = uasc.Aes128Sha256RsaOaep },
				[]ua.StatusCode{ua.BadSecurityPolicyRejected, ua.BadSecurityChecksFailed},
			},
			"another certificate": {
				func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest) { p.Config.Own = stranger },
				[]ua.StatusCode{ua.BadSecurityChecksFailed, ua.BadCertificateInvalid},
			},
			"another channel": {
				func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest) { p.Channel = w.dialWith(good).Channel },
				[]ua.StatusCode{ua.BadTcpSecureChannelUnknown, ua.BadSecurityChecksFailed},
			},
			"issuing twice": {func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest) {
				r.RequestType = ua.SecurityTokenRequestTypeIssue
			}, []ua.StatusCode{ua.BadRequestTypeInvalid}},
			"no nonce":      {func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest) { r.ClientNonce = nil }, []ua.StatusCode{ua.BadNonceInvalid}},
			"a short nonce": {func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest) { r.ClientNonce = r.ClientNonce[:31] }, []ua.StatusCode{ua.BadNonceInvalid}},
			"a long nonce": {func(p *rawpeer.Peer, r *ua.OpenSecureChannelRequest) {
				r.ClientNonce = append(r.ClientNonce, 0)
			}, []ua.StatusCode{ua.BadNonceInvalid}},
		} {
			if got := renew(row.bend); !slices.Contains(row.want, got) {
				t.Errorf("renewing with %s: %v, want one of %v", what, got, row.want)
			}
		}
		open := func(config rawpeer.Config, bend func(frame []byte)) ua.StatusCode {
			p := w.bare(config)
			p.Hello()
			frame := p.SealOpen(request(p, ua.SecurityTokenRequestTypeIssue))
			bend(frame)
			p.Write(frame)
			return p.Refusal()
		}
		// The security header: policy URI, sender certificate, receiver thumbprint.
		uri, chain := len(good.Policy.URI), len(own.Certificate().Chain)
		for what, at := range map[string]int{
			"policy": 16, "certificate": 16 + uri + 4 + chain/2, "thumbprint": 16 + uri + 4 + chain + 4 + 3,
			"ciphertext": 16 + uri + 4 + chain + 4 + 20 + 5, "the end": -1,
		} {
			got := open(good, func(frame []byte) {
				if at < 0 {
					at += len(frame)
				}
				frame[at] ^= 1
			})
			switch got {
			case ua.BadSecurityPolicyRejected, ua.BadSecurityChecksFailed, ua.BadCertificateInvalid:
			default:
				t.Errorf("a flipped bit in %s: %v", what, got)
			}
		}
		// The server's own certificate is not a client's.
		reflected := good
		reflected.Own = w.PKI()
		if got := open(reflected, func([]byte) {}); !got.IsBad() {
			t.Errorf("the server's certificate: %v", got)
		}
	})
}

// Renewing again and again holds two tokens and no memory. Threat S10.
func TestRenewalFlood(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		s := p.Session()
		for i := range 2000 {
			token := p.Open(ua.SecurityTokenRequestTypeRenew)
			if i%100 == 0 {
				p.Use(token)
				readValue(s, serverNode)
			}
		}
		readValue(s, serverNode)
	})
}

// Nothing is lost when the token is renewed with many requests under way.
// Threat R3.
func TestRenewalWithRequestsInFlight(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		s := w.dialWith(w.secure(own, uasc.ModeSignAndEncrypt)).Session()
		subscribe(s, 100)
		var ids []uint32
		for range 5 {
			for range 50 {
				ids = append(ids, s.Start(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}))
			}
			// The answers that are on their way are read first: Open waits for
			// the next frame to be an OPN.
			for _, id := range ids {
				rawpeer.Wait[*ua.ReadResponse](s, id)
			}
			ids = ids[:0]
			token := s.Open(ua.SecurityTokenRequestTypeRenew)
			for range 50 { // still under the old token
				ids = append(ids, s.Start(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}))
			}
			s.Use(token)
			for range 50 {
				ids = append(ids, s.Start(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}))
			}
			for _, id := range ids {
				rawpeer.Wait[*ua.ReadResponse](s, id)
			}
			ids = ids[:0]
		}
	})
}

// A client that never acknowledges fills neither memory nor the list of
// messages; acknowledging nonsense does nothing. Threat V9.
func TestThreat_V9_NeverAcknowledging(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", int32(0))
		sub := subscribe(s, 100)
		watch(t, s, sub, monitor(w.node("v"), 1))
		var last *ua.PublishResponse
		for i := int32(1); i <= 500; i++ {
			last = publish(s)
			v.Store(ua.DataValue{Value: ua.VariantOf(i)})
		}
		n := len(last.AvailableSequenceNumbers)
		if n < 10 || n > 100 {
			t.Errorf("%d messages are kept", n)
		}
		if newest := last.AvailableSequenceNumbers[n-1]; newest != last.NotificationMessage.SequenceNumber {
			t.Errorf("the newest is %d of %d", newest, last.NotificationMessage.SequenceNumber)
		}
		acks := make([]ua.SubscriptionAcknowledgement, 10_001)
		expect(t, "too many acknowledgements", s.Result(&ua.PublishRequest{SubscriptionAcknowledgements: acks}), ua.BadTooManyOperations)
		for i := range acks {
			acks[i] = ua.SubscriptionAcknowledgement{SubscriptionID: rand.Uint32(), SequenceNumber: rand.Uint32()}
		}
		resp := publish(s, acks[:10_000]...)
		if len(resp.Results) != 10_000 || len(resp.AvailableSequenceNumbers) < n {
			t.Errorf("%d results, %d messages", len(resp.Results), len(resp.AvailableSequenceNumbers))
		}
	})
}

// A million Publish requests hold no more than the limit. Threat V8.
func TestPublishFlood(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		subscribe(s, 60_000)
		for range 100 {
			var all []byte
			for range 100 {
				all = append(all, s.Seal(uasc.TypeMessage, s.NextID(), s.Prepare(s.Token, &ua.PublishRequest{}))...)
			}
			s.Write(all)
			for range 80 {
				if _, answer, err := s.Next(time.Second); err != nil || faultOf(t, answer) != ua.BadTooManyPublishRequests {
					t.Fatalf("%v, %v", answer, err)
				}
			}
			for {
				if _, _, err := s.Next(time.Millisecond); err != nil {
					break
				}
			}
		}
	})
}

// Requests with random bytes in them are answered, or end their channel, and
// hurt nobody else. Threats D1 to D10: most crashes of servers were found so.
func TestMutatedRequests(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		random := rand.New(rand.NewPCG(1, 2))
		w.variable("v", []int32{1, 2, 3})
		canary := w.session()
		requests := append(sessionServices(), &ua.FindServersRequest{}, &ua.GetEndpointsRequest{}, &ua.CreateSessionRequest{},
			&ua.ActivateSessionRequest{UserIdentityToken: ua.ObjectOf(anonymous)})
		s := w.session()
		for round := range 40 {
			for _, request := range requests {
				body := s.Prepare(s.Token, request)
				for range 1 + random.IntN(3) {
					switch random.IntN(4) {
					case 0:
						body[random.IntN(len(body))] ^= byte(1 << random.IntN(8))
					case 1:
						body = body[:1+random.IntN(len(body))]
					case 2:
						at := random.IntN(len(body))
						body = slices.Insert(body, at, bytes.Repeat([]byte{0xFF}, 1+random.IntN(4))...)
					case 3:
						if at := random.IntN(len(body)); at+4 <= len(body) {
							binary.LittleEndian.PutUint32(body[at:], []uint32{0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF}[random.IntN(6)])
						}
					}
				}
				s.SendBody(body)
			}
			for { // whatever comes
				if _, _, err := s.Next(50 * time.Millisecond); err != nil {
					if errors.Is(err, rawpeer.ErrQuiet) {
						break
					}
					s = w.session()
					break
				}
			}
			if dv := readValue(canary, w.node("v")); dv.Status != ua.Good {
				t.Errorf("round %d: another session reads %v", round, dv)
			}
		}
		if n := w.Stats().Channels.AssemblyBytes; n != 0 {
			t.Errorf("%d bytes are held", n)
		}
	})
}

// Every policy and mode that is offered works, and so does the password of a user.
func TestAllSecurityProfiles(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		w.variable("big", make([]byte, 300_000))
		for _, policy := range []*uasc.Policy{uasc.Basic256Sha256, uasc.Aes128Sha256RsaOaep, uasc.Aes256Sha256RsaPss} {
			for _, mode := range []uasc.Mode{uasc.ModeSign, uasc.ModeSignAndEncrypt} {
				config := w.secure(own, mode)
				config.Policy = policy
				s := w.dialWith(config).CreateSession()
				i := slices.IndexFunc(s.Created.ServerEndpoints, func(e ua.EndpointDescription) bool {
					return e.SecurityPolicyURI == policy.URI && e.SecurityMode == ua.MessageSecurityMode(mode)
				})
				if i < 0 {
					t.Fatalf("%s/%v is not offered", policy.Name, mode)
				}
				token := named(t, s, "ann", "secret of ann")
				for _, p := range s.Created.ServerEndpoints[i].UserIdentityTokens {
					if p.TokenType == ua.UserTokenTypeUserName {
						token.PolicyID = p.PolicyID
					}
				}
				expect(t, fmt.Sprintf("%s/%v: activation", policy.Name, mode), s.Activate(token), ua.Good)
				if dv := readValue(s, w.node("big")); dv.Status != ua.Good {
					t.Errorf("%s/%v: read %v", policy.Name, mode, dv.Status)
				}
				s.Use(s.Open(ua.SecurityTokenRequestTypeRenew))
				expect(t, "write", writeValue(t, s, w.node("big"), make([]byte, 300_000)), ua.Good)
				s.Close()
			}
		}
	}, withUsers)
}

// A client whose machine slept for two hours finds nothing of its own any more, and
// nothing of it was kept; what it sends then is refused, on the old connection and on
// a new one. Times are on the monotonic clock, which no change of the wall clock
// moves. Threat R6.
func TestThreat_R6_HibernatingClient(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		v := w.variable("v", int32(0))
		awake := w.session()
		own := clientPKI(t, clientKey())
		asleep := w.dialWith(w.secure(own, uasc.ModeSignAndEncrypt)).Session()
		sub := subscribe(asleep, 100)
		watch(t, asleep, sub, monitor(w.node("v"), 1))
		publish(asleep)
		for range 3 {
			asleep.Start(&ua.PublishRequest{})
		}
		start := time.Now()
		for i := int32(1); time.Since(start) < 2*time.Hour; i++ {
			v.Store(ua.DataValue{Value: ua.VariantOf(i)})
			readValue(awake, serverNode)
			if i%100 == 0 {
				awake.Use(awake.Open(ua.SecurityTokenRequestTypeRenew))
			}
			time.Sleep(20 * time.Second)
		}
		synctest.Wait()
		if n := w.Stats(); n.Sessions.Sessions != 1 || n.Subscriptions.Subscriptions != 0 || n.Subscriptions.MonitoredItems != 0 || n.Channels.Channels != 1 {
			t.Errorf("kept: %+v, %+v, %+v", n.Sessions, n.Subscriptions, n.Channels)
		}
		// What had been sent before is still there to read, and then the end.
		asleep.Conn.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := io.Copy(io.Discard, asleep.Conn); err != nil {
			t.Errorf("the old connection is open: %v", err)
		}
		back := asleep.On(w.dialWith(w.secure(own, uasc.ModeSignAndEncrypt)))
		expect(t, "the old session", back.Activate(anonymous), ua.BadSessionIDInvalid)
		readValue(back.Peer.Session(), serverNode)
	})
}
