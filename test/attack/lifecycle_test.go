package attack

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// drain reads and drops what comes until the connection ends.
func drain(conn net.Conn) {
	for b := make([]byte, 64<<10); ; {
		if _, err := conn.Read(b); err != nil {
			return
		}
	}
}

// Requests that contradict each other, in one segment.
func TestThreat_R1_OneSegment(t *testing.T) {
	x := newTarget(t, onTCP)
	for i := range scale(150, 3000) {
		p := x.open()
		s := p.Session()
		subscribe(s, 50)
		var segment []byte
		var ids []uint32
		add := func(req ua.Request) {
			n := p.NextID()
			ids = append(ids, n)
			segment = append(segment, p.Seal(uasc.TypeMessage, n, p.Prepare(s.Token, req))...)
		}
		for range i % 4 {
			add(&ua.PublishRequest{})
		}
		add(&ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: ua.NumericID(0, id.ObjectsFolder), MethodID: node(waitingMethod)}}})
		if i%3 == 0 {
			add(s.ActivateRequest(nil))
		}
		add(&ua.CloseSessionRequest{DeleteSubscriptions: i%2 == 0})
		add(&ua.PublishRequest{})
		add(readState())
		add(&ua.CloseSessionRequest{})
		p.Write(segment)
		if i%5 == 0 {
			p.Conn.Close()
			continue
		}
		for _, n := range ids { // each has an answer, whatever it is
			s.ResultOf(n)
		}
	}
}

// Connections that end in the middle of a large answer.
func TestThreat_R2_KilledAnswers(t *testing.T) {
	x := newTarget(t, onTCP)
	x.variable("large", make([]float64, 100_000))
	for i := range 60 {
		p := x.open()
		s := p.Session()
		nodes := []ua.ReadValueID{valueOf(ua.StringID(2, "large")), valueOf(ua.StringID(2, "large"))}
		if i%2 == 0 {
			nodes = append(nodes, valueOf(node(waitingNode)))
		}
		for range 5 {
			s.Start(&ua.ReadRequest{NodesToRead: nodes})
		}
		p.Conn.Read(make([]byte, 1+i*1000))
		if i%3 == 0 {
			p.Conn.(*net.TCPConn).SetLinger(0)
		}
		p.Conn.Close()
	}
	eventually(t, "nothing is left", func() bool {
		n := x.server.Stats()
		return n.Channels.Channels == 0 && n.Goroutines["channel"] == 0 && n.Goroutines["reader"] == 0 && n.Pool.Active == 0
	})
}

// A client that renews all the time loses no answer.
func TestThreat_R3_RenewalsInFlight(t *testing.T) {
	x := newTarget(t, onTCP)
	p := rawpeer.Connect(t, x.dial(), x.secure(uasc.Aes128Sha256RsaOaep, uasc.ModeSignAndEncrypt))
	s := p.Session()
	for range 20 {
		var ids []uint32
		for i := range 20 {
			ids = append(ids, s.Start(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(node(uint32(1 + i*2)))}}))
		}
		for _, n := range ids {
			if code := s.ResultOf(n); code != ua.Good {
				t.Fatal(code)
			}
		}
		token := p.Open(ua.SecurityTokenRequestTypeRenew)
		s.ResultOf(s.Start(readState())) // with the old one
		p.Use(token)
	}
}

// Subscriptions that are published, transferred, modified and deleted by several
// sessions of one user at once, while those sessions come and go.
func TestThreat_R4_SubscriptionStorm(t *testing.T) {
	x := newTarget(t, onTCP, users, func(c *uahive.Config) { c.Limits.Subscriptions.MaxLifetime = time.Second })
	x.watch()
	m := measure()
	config := x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	var (
		mu   sync.Mutex
		subs []uint32
	)
	pick := func(r *rand.Rand) uint32 {
		mu.Lock()
		defer mu.Unlock()
		if len(subs) == 0 {
			return 1
		}
		return subs[r.IntN(len(subs))]
	}
	var peers sync.WaitGroup
	for k := range 6 {
		peers.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(k)))
			for range 4 {
				p := rawpeer.Connect(t, x.dial(), config)
				s := p.CreateSession()
				if code := s.Activate(userToken(t, s, "op", "secret", s.Nonce)); code != ua.Good {
					t.Error(code)
					return
				}
				for range scale(60, 1000) {
					switch r.IntN(9) {
					case 0:
						made, ok := s.Do(&ua.CreateSubscriptionRequest{RequestedPublishingInterval: 10, PublishingEnabled: true}).(*ua.CreateSubscriptionResponse)
						if !ok {
							break // as many as a session may have
						}
						n := made.SubscriptionID
						mu.Lock()
						subs = append(subs, n)
						mu.Unlock()
						s.Result(&ua.CreateMonitoredItemsRequest{SubscriptionID: n, ItemsToCreate: []ua.MonitoredItemCreateRequest{item(node(int32Node)), item(node(waitingNode))}})
					case 1:
						s.Result(&ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{pick(r), pick(r)}, SendInitialValues: true})
					case 2:
						if r.IntN(3) == 0 {
							s.Result(&ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{pick(r)}})
						}
					case 3, 4, 5:
						s.Start(&ua.PublishRequest{RequestHeader: ua.RequestHeader{TimeoutHint: uint32(r.IntN(100)), RequestHandle: 5}, SubscriptionAcknowledgements: []ua.SubscriptionAcknowledgement{{SubscriptionID: pick(r), SequenceNumber: 1}}})
					case 6:
						s.Result(&ua.ModifySubscriptionRequest{SubscriptionID: pick(r), RequestedPublishingInterval: float64(r.IntN(50))})
						s.Result(&ua.SetPublishingModeRequest{PublishingEnabled: r.IntN(2) == 0, SubscriptionIDs: []uint32{pick(r)}})
					case 7:
						s.Result(&ua.RepublishRequest{SubscriptionID: pick(r), RetransmitSequenceNumber: 1})
						s.Result(&ua.CancelRequest{RequestHandle: 5})
					case 8:
						s.Result(&ua.WriteRequest{NodesToWrite: []ua.WriteValue{{NodeID: node(int32Node), AttributeID: 13, Value: ua.DataValue{Value: ua.VariantOf(r.Int32())}}}})
					}
				}
				switch r.IntN(3) {
				case 0:
					s.Close()
				case 1:
					s.Result(&ua.CloseSessionRequest{DeleteSubscriptions: false})
				default:
					p.Conn.Close()
				}
			}
		})
	}
	peers.Wait()
	eventually(t, "all subscriptions expire", func() bool {
		n := x.server.Stats()
		return n.Subscriptions.Subscriptions <= 1 && n.Goroutines["subscription"] <= 1 && n.Subscriptions.MonitoredItems <= canaryItems
	})
	m.check(t, 150, 20)
}

// A server that is closed in the middle of everything ends in time and leaves
// nothing, and its clients are told.
func TestThreat_R5_ShutdownInAStorm(t *testing.T) {
	x := newTarget(t, onTCP)
	stop := make(chan struct{})
	var peers sync.WaitGroup
	for k := range 12 {
		conn := x.dial()
		peers.Go(func() {
			defer conn.Close()
			config := rawpeer.Config{Patience: 10 * time.Second}
			if k%4 == 0 {
				config = x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
			}
			p := rawpeer.Connect(t, conn, config)
			s := p.Session()
			subscribe(s, 10)
			go drain(conn)
			for i := 0; ; i++ {
				var req ua.Request = readState()
				switch i % 4 {
				case 0:
					req = &ua.PublishRequest{}
				case 1:
					req = &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: ua.NumericID(0, id.ObjectsFolder), MethodID: node(waitingMethod)}}}
				case 2:
					req = &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{{NodeID: ua.NumericID(0, id.PropertyType), BrowseDirection: 2, ResultMask: 63}}}
				}
				if _, err := conn.Write(p.Seal(uasc.TypeMessage, p.NextID(), p.Prepare(s.Token, req))); err != nil {
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	told := x.open()
	told.Session()
	for k := range 4 { // and others that are on their way in
		peers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := net.Dial("tcp", x.url[len("opc.tcp://"):])
				if err != nil {
					return
				}
				hello := uasc.Limits{}.Hello(x.url)
				conn.Write(hello.AppendTo(nil))
				if k%2 == 0 {
					conn.Read(make([]byte, 100))
				}
				conn.Close()
			}
		})
	}
	eventually(t, "all are busy", func() bool {
		n := x.server.Stats()
		return n.Subscriptions.Subscriptions == 12 && n.Sessions.Requests > 500
	})
	start := time.Now()
	if err := x.server.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("the shutdown took %v", d)
	}
	if code := ended(t, told); code != ua.BadShutdown {
		t.Errorf("a client is told %v", code)
	}
	close(stop)
	peers.Wait()
	n := x.server.Stats()
	if len(n.Goroutines) > 0 || n.Sessions.Sessions+n.Channels.Channels+n.Subscriptions.Subscriptions+n.Subscriptions.MonitoredItems != 0 {
		t.Errorf("left behind: %+v", n)
	}
}

// Activations at once, of which each needs the nonce of the one before, and a
// CloseSession among them.
func TestThreat_R7_ActivationRace(t *testing.T) {
	x := newTarget(t, onTCP, users)
	for i := range 30 {
		p := rawpeer.Connect(t, x.dial(), x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt))
		s := p.CreateSession()
		good := s.ActivateRequest(userToken(t, s, "op", "secret", s.Nonce))
		var ids []uint32
		for k := range 25 {
			if k == 12 && i%2 == 0 {
				ids = append(ids, s.Start(&ua.CloseSessionRequest{}))
			}
			ids = append(ids, s.Start(good))
		}
		accepted := 0
		for _, n := range ids {
			switch answer := s.Wait(n).(type) {
			case *ua.ActivateSessionResponse:
				accepted++
				s.Nonce = answer.ServerNonce
			}
		}
		if accepted != 1 && (i%2 != 0 || accepted != 0) {
			t.Errorf("one nonce was good for %d activations", accepted)
		}
		code := s.Result(readState())
		if i%2 == 0 && code != ua.BadSessionIDInvalid || i%2 == 1 && code != ua.Good {
			t.Errorf("round %d: %v", i, code)
		}
	}
}
