package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// A token id is never 0, which a widespread client takes for "no token"; a
// renewed token counts from its first use, and until then the old one does, also
// for what the server sends (Part 4, 5.6.2.1).
func TestRenewedTokens(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		for _, config := range []rawpeer.Config{{}, w.secure(own, uasc.ModeSign), w.secure(own, uasc.ModeSignAndEncrypt)} {
			config.Lifetime = 60_000
			p := w.dialWith(config)
			s := p.Session()
			seen := map[uint32]bool{0: true}
			for range 3 {
				old := p.Token
				if seen[old.ID] {
					t.Fatalf("token id %d is 0 or came before", old.ID)
				}
				seen[old.ID] = true
				renewed := p.Open(ua.SecurityTokenRequestTypeRenew)
				if got := answeredWith(s); got != old.ID {
					t.Errorf("answered with token %d before %d was used", got, renewed.ID)
				}
				p.Use(renewed)
				if got := answeredWith(s); got != renewed.ID {
					t.Errorf("answered with token %d after %d was used", got, renewed.ID)
				}
			}
		}
	})
}

// answeredWith returns the token id of the chunk that answers a Read.
func answeredWith(s *rawpeer.Session) uint32 {
	s.Start(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}})
	frame := s.Frame()
	if _, err := s.Opener.Open(slices.Clone(frame)); err != nil {
		panic(err)
	}
	return binary.LittleEndian.Uint32(frame[12:])
}

// A token ends 25 % after its lifetime, and the channel with it unless it was
// renewed (Part 4, 5.6.2.1).
func TestATokenExpires(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dialWith(rawpeer.Config{Lifetime: 20_000})
		s := p.Session()
		time.Sleep(24 * time.Second) // inside of the tolerance
		readValue(s, serverNode)
		start := time.Now()
		if _, answer, err := p.Next(time.Minute); errors.Is(err, rawpeer.ErrQuiet) || err == nil {
			t.Errorf("the channel lives on: %v", answer)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("ended after %v more", took)
		}
	})
}

// Sequence numbers go up by one in each direction over OPN, MSG and all chunks,
// and a renewal does not reset them (Part 6, 6.7.2.4).
func TestSequenceNumbersOfTheServer(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.variable("big", make([]byte, 200_000)) // several chunks
		p := w.dial()
		s := p.Session()
		last := uint32(0)
		check := func(frame []byte) {
			at := 16
			if string(frame[:3]) == "ERR" {
				t.Fatalf("the channel ended: %q", frame)
			}
			if string(frame[:3]) == "OPN" {
				h, err := uasc.ParseOpen(frame)
				if err != nil {
					t.Fatal(err)
				}
				at = 12 + 12 + len(h.PolicyURI) + len(h.SenderCertificate) + len(h.ReceiverThumbprint)
			}
			n := binary.LittleEndian.Uint32(frame[at:])
			if last != 0 && n != last+1 {
				t.Errorf("number %d after %d", n, last)
			}
			last = n
		}
		for range 4 {
			s.Start(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(w.node("big"))}})
			for chunks := 1; ; chunks++ {
				frame := p.Frame()
				check(frame)
				if frame[3] == 'F' {
					if chunks < 4 {
						t.Errorf("%d chunks", chunks)
					}
					break
				}
			}
			p.Write(p.SealOpen(&ua.OpenSecureChannelRequest{
				RequestType: ua.SecurityTokenRequestTypeRenew, SecurityMode: ua.MessageSecurityModeNone, RequestedLifetime: 60_000,
			}))
			check(p.Frame())

		}
	})
}

// What breaks the sequence, the channel id or the token id ends the channel
// (Part 6, 6.7.2.4 and 6.7.6). Threats S5 to S7.
func TestBrokenChunksEndTheChannel(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		rows := []struct {
			what  string
			field int // offset in the chunk
			add   uint32
			want  []ua.StatusCode
		}{
			{"a gap", 16, 1, []ua.StatusCode{ua.BadSecurityChecksFailed}},
			{"a repeated number", 16, math.MaxUint32, []ua.StatusCode{ua.BadSecurityChecksFailed}},
			{"another channel", 8, 1, []ua.StatusCode{ua.BadTcpSecureChannelUnknown, ua.BadSecureChannelIDInvalid}},
			{"another token", 12, 1, []ua.StatusCode{ua.BadSecureChannelTokenUnknown}},
		}
		for _, row := range rows {
			p := w.dial()
			s := p.Session()
			b := p.Seal(uasc.TypeMessage, p.NextID(), p.Prepare(s.Token, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}))
			binary.LittleEndian.PutUint32(b[row.field:], binary.LittleEndian.Uint32(b[row.field:])+row.add)
			p.Write(b)
			if got := p.Refusal(); !slices.Contains(row.want, got) {
				t.Errorf("%s: %v, want one of %v", row.what, got, row.want)
			}
		}
		// A replay on the same channel is a repeated number.
		p := w.dial()
		s := p.Session()
		b := p.Seal(uasc.TypeMessage, p.NextID(), p.Prepare(s.Token, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}))
		p.Write(b)
		p.Write(b)
		expect(t, "a replay", p.Refusal(), ua.BadSecurityChecksFailed)
		// On another connection nothing fits.
		other := w.dial()
		other.Write(b)
		if got := other.Refusal(); !got.IsBad() {
			t.Errorf("a replay on another connection: %v", got)
		}
	})
}

// A flipped bit anywhere behind the header of a secured chunk is
// BadSecurityChecksFailed, without a word more (threat S8).
func TestTamperedChunks(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		for _, mode := range []uasc.Mode{uasc.ModeSign, uasc.ModeSignAndEncrypt} {
			for _, at := range []int{16, 20, 24, 40, -1, -16, -33} {
				p := w.dialWith(w.secure(own, mode))
				b := p.Seal(uasc.TypeMessage, p.NextID(), p.Prepare(ua.NodeID{}, &ua.FindServersRequest{}))
				if at < 0 {
					at += len(b)
				}
				b[at] ^= 1
				p.Write(b)
				expect(t, fmt.Sprintf("%v, byte %d of %d", mode, at, len(b)), p.Refusal(), ua.BadSecurityChecksFailed)
			}
		}
	})
}

// nested returns a Variant around an array of one Variant, so many levels deep.
func nested(levels int) []byte {
	var b []byte
	for range levels - 1 {
		b = append(b, byte(ua.TypeVariant)|0x80, 1, 0, 0, 0)
	}
	return append(b, byte(ua.TypeBoolean), 1)
}

// Variants nest 100 levels deep at least, and more is BadEncodingLimitsExceeded
// on a channel that goes on (Part 6, 5.2.2.16). Threat D2: unlimited ones used up
// the stack.
func TestNestingLimits(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.variable("v", int32(1))
		write := func(value []byte) ua.Structure {
			t.Helper()
			req := &ua.WriteRequest{}
			body := s.Prepare(s.Token, req) // ends with the null array of NodesToWrite
			body = append(body[:len(body)-4], 1, 0, 0, 0)
			body = w.node("v").AppendTo(body)
			body = binary.LittleEndian.AppendUint32(body, uint32(ua.AttributeIDValue))
			body = append(body, 0xFF, 0xFF, 0xFF, 0xFF) // no index range
			body = append(body, 0x01)                   // a DataValue with a value
			return s.Wait(s.SendBody(append(body, value...)))
		}
		for _, levels := range []int{1, 2, 50, 100} {
			resp, ok := write(nested(levels)).(*ua.WriteResponse)
			if !ok || len(resp.Results) != 1 || resp.Results[0] == ua.BadEncodingLimitsExceeded {
				t.Errorf("%d levels: %+v", levels, resp)
			}
		}
		for _, levels := range []int{150, 1000, 100_000, 700_000} {
			expect(t, fmt.Sprintf("%d levels", levels), faultOf(t, write(nested(levels))), ua.BadEncodingLimitsExceeded)
		}
		// Extension objects and diagnostic infos are limited too.
		for what, row := range map[string]struct {
			value []byte
			want  ua.StatusCode
		}{
			"DiagnosticInfo of 4 levels":    {diagnostic(4), ua.Good},
			"DiagnosticInfo of 1000 levels": {diagnostic(1000), ua.BadEncodingLimitsExceeded},
		} {
			var got ua.StatusCode
			switch answer := write(row.value).(type) {
			case *ua.ServiceFault:
				got = answer.ResponseHeader.ServiceResult
			}
			expect(t, what, got, row.want)
		}
		readValue(s, w.node("v"))
	})
}

// diagnostic returns a Variant with a DiagnosticInfo of so many levels.
func diagnostic(levels int) []byte {
	b := []byte{byte(ua.TypeDiagnosticInfo)}
	for range levels - 1 {
		b = append(b, 0x40)
	}
	return append(b, 0)
}

// Only -1 is a null length; array dimensions whose product is not the length,
// and anything else that cannot be, is BadDecodingError (Part 6, 5.2.2.16 and
// 5.2.5). The channel and the session go on. Threats D1, D3, D4, D8.
func TestMalformedRequests(t *testing.T) {
	int32s := func(n ...int32) []byte {
		var b []byte
		for _, v := range n {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return b
	}
	array := func(kind ua.TypeID, flags byte, rest ...[]byte) []byte {
		return slices.Concat(append([][]byte{{byte(kind) | flags}}, rest...)...)
	}
	rows := map[string][]byte{
		"dimensions too large":         array(ua.TypeByte, 0xC0, int32s(4), []byte{1, 2, 3, 4}, int32s(2, 2, 3)),
		"dimensions too small":         array(ua.TypeByte, 0xC0, int32s(4), []byte{1, 2, 3, 4}, int32s(2, 1, 3)),
		"a dimension of -1":            array(ua.TypeByte, 0xC0, int32s(4), []byte{1, 2, 3, 4}, int32s(2, -1, -4)),
		"dimensions that overflow":     array(ua.TypeByte, 0xC0, int32s(4), []byte{1, 2, 3, 4}, int32s(3, math.MaxInt32, math.MaxInt32, 4)),
		"2^31-1 dimensions":            array(ua.TypeByte, 0xC0, int32s(4), []byte{1, 2, 3, 4}, int32s(math.MaxInt32)),
		"dimensions without an array":  array(ua.TypeByte, 0x40, []byte{1}, int32s(1, 1)),
		"array of length -2":           array(ua.TypeInt32, 0x80, int32s(-2)),
		"string of length -2":          array(ua.TypeString, 0, int32s(-2)),
		"byte string of length -2^31":  array(ua.TypeByteString, 0, int32s(math.MinInt32)),
		"string beyond the end":        array(ua.TypeString, 0, int32s(1000), []byte("short")),
		"2^31-1 elements":              array(ua.TypeBoolean, 0x80, int32s(math.MaxInt32)),
		"type 26":                      array(26, 0, []byte{0}),
		"type 63":                      array(63, 0, []byte{0}),
		"extension object, encoding 3": array(ua.TypeExtensionObject, 0, []byte{0, 0, 3}, int32s(0)),
		"extension object too long":    array(ua.TypeExtensionObject, 0, ua.NumericID(0, 886).AppendTo(nil), []byte{1}, int32s(17), make([]byte, 17)),
		"extension object too short":   array(ua.TypeExtensionObject, 0, ua.NumericID(0, 886).AppendTo(nil), []byte{1}, int32s(15), make([]byte, 15)),
		"bytes behind the message":     append(array(ua.TypeByte, 0, []byte{1}), 0, 0, 0, 0, 0, 0, 0, 0),
		"nothing":                      {},
	}
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		v := w.variable("v", int32(1))
		good := s.Prepare(s.Token, &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
			NodeID: w.node("v"), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(int32(7))},
		}}})
		for what, value := range rows {
			body := append(slices.Clone(good[:len(good)-9]), append([]byte{1}, value...)...)
			if what == "bytes behind the message" {
				body = append(slices.Clone(good), 0)
			}
			code := faultOf(t, s.Wait(s.SendBody(body)))
			if code != ua.BadDecodingError && !(code == ua.BadEncodingLimitsExceeded && what == "2^31-1 elements") {
				t.Errorf("%s: %v", what, code)
			}
		}
		// Cut anywhere: a request is decoded as a whole or not at all.
		for cut := range good {
			if code := faultOf(t, s.Wait(s.SendBody(good[:cut]))); !code.IsBad() {
				t.Fatalf("cut at %d: %v", cut, code)
			}
		}
		if dv := v.Load(); !dv.Value.Equal(ua.VariantOf(int32(1))) {
			t.Errorf("the value is %v", dv)
		}
		rawpeer.As[*ua.WriteResponse](t, s.Wait(s.SendBody(good)))
	})
}

// faultOf returns the code of a ServiceFault, which the answer must be.
func faultOf(t testing.TB, answer ua.Structure) ua.StatusCode {
	t.Helper()
	fault, ok := answer.(*ua.ServiceFault)
	if !ok {
		t.Fatalf("%T is no ServiceFault", answer)
	}
	return fault.ResponseHeader.ServiceResult
}

// The address of an endpoint is what the client used to reach it, not where the
// server is bound, which a client behind NAT or outside of a container cannot
// reach; CreateSession returns the descriptions of GetEndpoints (Part 4, 5.7.2).
func TestEndpointAddresses(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		for _, url := range []string{
			"opc.tcp://localhost:4840", "opc.tcp://plant.example:14840", "opc.tcp://192.0.2.7:4840", "opc.tcp://[2001:db8::1]:4840",
		} {
			p := w.dialWith(rawpeer.Config{URL: url})
			s := p.Session()
			for what, asked := range map[string]string{"as in Hello": url, "none": ""} {
				list := rawpeer.Do[*ua.GetEndpointsResponse](s, &ua.GetEndpointsRequest{EndpointURL: asked}).Endpoints
				if len(list) != 7 {
					t.Errorf("%d endpoints", len(list))
				}
				for _, e := range list {
					if e.EndpointURL != url || !slices.Equal(e.Server.DiscoveryURLs, []string{url}) {
						t.Errorf("%s: %q, discovery %q", what, e.EndpointURL, e.Server.DiscoveryURLs)
					}
					if e.Server.ApplicationURI != applicationURI || len(e.ServerCertificate) == 0 || e.TransportProfileURI == "" || len(e.UserIdentityTokens) == 0 {
						t.Errorf("incomplete: %+v", e)
					}
				}
				if !slices.EqualFunc(list, s.Created.ServerEndpoints, func(a, b ua.EndpointDescription) bool {
					return string(a.AppendTo(nil)) == string(b.AppendTo(nil))
				}) {
					t.Error("CreateSession and GetEndpoints disagree")
				}
			}
			servers := rawpeer.Do[*ua.FindServersResponse](s, &ua.FindServersRequest{EndpointURL: url}).Servers
			if len(servers) != 1 || !slices.Equal(servers[0].DiscoveryURLs, []string{url}) {
				t.Errorf("FindServers: %+v", servers)
			}
		}
	})
}

// Discovery needs neither a session nor an endpoint without security, and its
// answers do not grow with what was asked (Part 4, 5.5). Threat U13.
func TestDiscovery(t *testing.T) {
	secureOnly := func(c *uahive.Config) { c.Security = uahive.SecurePolicies() }
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		s := &rawpeer.Session{Peer: p}
		list := rawpeer.Do[*ua.GetEndpointsResponse](s, &ua.GetEndpointsRequest{}).Endpoints
		if len(list) != 6 {
			t.Errorf("%d endpoints", len(list))
		}
		for _, e := range list {
			if e.SecurityMode == ua.MessageSecurityModeNone {
				t.Error("an endpoint without security is offered")
			}
		}
		expect(t, "CreateSession", s.Result(p.CreateRequest()), ua.BadSecurityPolicyRejected)
		none := rawpeer.Do[*ua.GetEndpointsResponse](s, &ua.GetEndpointsRequest{ProfileURIs: []string{"http://other"}}).Endpoints
		if len(none) != 0 {
			t.Errorf("%d endpoints of another profile", len(none))
		}
		if n := len(rawpeer.Do[*ua.FindServersResponse](s, &ua.FindServersRequest{ServerURIs: []string{"urn:other"}}).Servers); n != 0 {
			t.Errorf("%d other servers", n)
		}
		long := make([]byte, 100_000)
		for i := range long {
			long[i] = 'a'
		}
		resp := rawpeer.Do[*ua.GetEndpointsResponse](s, &ua.GetEndpointsRequest{
			EndpointURL: "opc.tcp://" + string(long), LocaleIDs: slices.Repeat([]string{"en"}, 10_000),
		})
		if n := len(rawpeer.Encode(resp)); n > 50_000 {
			t.Errorf("the answer has %d bytes", n)
		}
	}, secureOnly)
}

// OpenSecureChannel refuses what does not fit, before any key is used (Part 4,
// 5.6.2; threat S9).
func TestThreat_S9_OpenSecureChannelChecks(t *testing.T) {
	open := func(bend func(r *ua.OpenSecureChannelRequest)) *ua.OpenSecureChannelRequest {
		r := &ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityModeNone, RequestedLifetime: 60_000}
		bend(r)
		return r
	}
	inTime(t, func(t *testing.T, w *world) {
		for what, row := range map[string]struct {
			bend func(r *ua.OpenSecureChannelRequest)
			want ua.StatusCode
		}{
			"renewing nothing":         {func(r *ua.OpenSecureChannelRequest) { r.RequestType = ua.SecurityTokenRequestTypeRenew }, ua.BadRequestTypeInvalid},
			"request type 7":           {func(r *ua.OpenSecureChannelRequest) { r.RequestType = 7 }, ua.BadRequestTypeInvalid},
			"mode 0":                   {func(r *ua.OpenSecureChannelRequest) { r.SecurityMode = 0 }, ua.BadSecurityModeRejected},
			"mode 4":                   {func(r *ua.OpenSecureChannelRequest) { r.SecurityMode = 4 }, ua.BadSecurityModeRejected},
			"signing without a policy": {func(r *ua.OpenSecureChannelRequest) { r.SecurityMode = ua.MessageSecurityModeSign }, ua.BadSecurityModeRejected},
		} {
			p := w.bare(rawpeer.Config{})
			p.Hello()
			p.Write(p.SealOpen(open(row.bend)))
			expect(t, what, p.Refusal(), row.want)
		}
		// The lifetime is revised.
		for _, lifetime := range []uint32{0, 1, math.MaxUint32} {
			p := w.bare(rawpeer.Config{})
			p.Config.Lifetime = lifetime
			p.Hello()
			if token := p.Open(ua.SecurityTokenRequestTypeIssue); token.Lifetime < 10*time.Second || token.Lifetime > time.Hour {
				t.Errorf("lifetime %d became %v", lifetime, token.Lifetime)
			}
		}
		synctest.Wait()
	})
}

// What a client says about itself does not come back in an answer (threat D10:
// stack traces and file names in DiagnosticInfo).
func TestRequestHeaderOddities(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		for what, h := range map[string]ua.RequestHeader{
			"all diagnostics":     {ReturnDiagnostics: math.MaxUint32},
			"a time long ago":     {Timestamp: 1},
			"the end of time":     {Timestamp: math.MaxInt64},
			"a long audit id":     {AuditEntryID: string(make([]byte, 100_000))},
			"an unknown addition": {AdditionalHeader: ua.ExtensionObject{TypeID: ua.NumericID(7, 7), Encoding: ua.EncodingBinary, Raw: []byte{1, 2, 3}}},
			"no handle":           {},
		} {
			req := &ua.ReadRequest{RequestHeader: h, NodesToRead: []ua.ReadValueID{valueOf(ua.NumericID(9, 9))}}
			resp := rawpeer.Do[*ua.ReadResponse](s, req)
			if resp.Results[0].Status != ua.BadNodeIDUnknown || len(resp.DiagnosticInfos) > 0 || resp.ResponseHeader.RequestHandle != req.RequestHeader.RequestHandle {
				t.Errorf("%s: %+v", what, resp)
			}
			if n := len(resp.ResponseHeader.StringTable); n > 0 {
				t.Errorf("%s: %d strings", what, n)
			}
		}
	})
}
