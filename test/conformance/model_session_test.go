package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// How long sessions last in the model. No sum of the model's pauses comes near.
const (
	modelTimeout    = 61 * time.Second // since the last use
	modelActivation = 31 * time.Second // of a session that nobody activated
)

// sessionModel is what a client may expect of its sessions, beside the server
// that it asks. It knows nothing of how the server does it.
type sessionModel struct {
	t        *testing.T
	w        *world
	random   *rand.Rand
	history  []string
	channels []*rawpeer.Peer
	sessions []*modelSession
	orphans  int // subscriptions that were left behind
}

// modelSession is a session as Part 4, 5.7 describes it.
type modelSession struct {
	*rawpeer.Session
	alive, active bool
	channel       *rawpeer.Peer // that it belongs to
	user          string        // "" for nobody in particular
	last          time.Time     // when it was used
	subscriptions []uint32
}

// TestSessionModel runs random histories of sessions that are created, activated,
// moved, used, closed, forgotten, and whose channels break, on the server and on
// the model, and compares every answer and what is left (Part 4, 5.7).
func TestSessionModel(t *testing.T) {
	const histories, steps = 60, 60
	inTime(t, func(t *testing.T, w *world) {
		done := make(map[string]int)
		for seed := range uint64(histories) {
			m := &sessionModel{t: t, w: w, random: rand.New(rand.NewPCG(seed, 5))}
			for range 3 {
				m.channels = append(m.channels, w.dial())
			}
			for range steps {
				m.step(done)
				if t.Failed() {
					t.Fatalf("history %d:\n%s", seed, strings.Join(m.history, "\n"))
				}
			}
			m.end()
		}
		// A model that is never asked proves nothing.
		for _, what := range []string{
			"ActivateSession Good", "ActivateSession BadSessionIdInvalid", "ActivateSession BadSecureChannelIdInvalid",
			"ActivateSession BadIdentityChangeNotSupported", "Read Good", "Read BadSessionIdInvalid", "Read BadSecureChannelIdInvalid",
			"Read BadSessionNotActivated", "CloseSession Good", "CloseSession BadSessionIdInvalid", "CloseSession BadSecureChannelIdInvalid",
			"TransferSubscriptions Good", "TransferSubscriptions BadUserAccessDenied",
		} {
			if done[what] < 5 {
				t.Errorf("%s came %d times", what, done[what])
			}
		}
	}, withUsers, func(c *uahive.Config) {
		c.Limits.Services.ActivationTimeout = modelActivation
		c.Limits.Channels.IdleTimeout = 24 * time.Hour
	})
}

// step does one thing and checks what the server holds.
func (m *sessionModel) step(done map[string]int) {
	for _, action := range []struct {
		weight int
		do     func()
	}{
		{4, m.create}, {8, m.activate}, {5, m.read}, {2, m.close}, {4, m.subscribe}, {9, m.transfer}, {1, m.breakChannel}, {2, m.wait}, {1, m.foreignRead},
	} {
		if m.random.IntN(32) < action.weight {
			before := len(m.history)
			action.do()
			m.check()
			for _, line := range m.history[before:] {
				words := strings.Fields(line)
				done[words[0]+" "+words[len(words)-1]]++
			}
		}
	}
}

// note writes down what was answered, and fails where the model wants something else.
func (m *sessionModel) note(what string, s *modelSession, channel *rawpeer.Peer, got, want ua.StatusCode) {
	m.t.Helper()
	m.history = append(m.history, fmt.Sprintf("%s of session %d on channel %d: %v", what, slices.Index(m.sessions, s), slices.Index(m.channels, channel), got))
	if got != want {
		m.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// pick draws one of the sessions that there ever were, late ones more often, and
// a channel, mostly the session's own.
func (m *sessionModel) pick() (*modelSession, *rawpeer.Peer) {
	if len(m.sessions) == 0 {
		m.create()
	}
	s := m.sessions[len(m.sessions)-1-m.random.IntN(min(6, len(m.sessions)))]
	if m.random.IntN(3) > 0 && m.open(s.channel) {
		return s, s.channel
	}
	return s, m.channels[m.random.IntN(len(m.channels))]
}

func (m *sessionModel) open(p *rawpeer.Peer) bool { return slices.Contains(m.channels, p) }

// usable reports whether a session can be used where it is.
func (m *sessionModel) usable(s *modelSession) bool { return s.alive && s.active && m.open(s.channel) }

func (m *sessionModel) create() {
	channel := m.channels[m.random.IntN(3)]
	req := channel.CreateRequest()
	req.RequestedSessionTimeout = float64(modelTimeout.Milliseconds())
	m.history = append(m.history, fmt.Sprintf("session %d is created on channel %d", len(m.sessions), slices.Index(m.channels, channel)))
	m.sessions = append(m.sessions, &modelSession{
		Session: channel.CreateSessionWith(req), alive: true, channel: channel, last: time.Now(),
	})
}

func (m *sessionModel) activate() {
	s, channel := m.pick()
	user := []string{"", "ann", "ann", "bob"}[m.random.IntN(4)]
	on := s.On(channel)
	var identity ua.Structure = anonymous
	if user != "" {
		identity = named(m.w.t, s.Session, user, "secret of "+user)
	}
	got := on.Activate(identity)
	want := ua.Good
	switch {
	case !s.alive:
		want = ua.BadSessionIDInvalid
	case !s.active && channel != s.channel:
		want = ua.BadSecureChannelIDInvalid
	case s.active && channel != s.channel && user != s.user:
		want = ua.BadIdentityChangeNotSupported
	}
	m.note("ActivateSession", s, channel, got, want)
	if want != ua.Good {
		return
	}
	s.Nonce, s.active, s.channel, s.user, s.last = on.Nonce, true, channel, user, time.Now()
	// A session that was never used makes room when its channel breaks.
	time.Sleep(time.Millisecond)
	m.use(s, channel)
}

// use reads something and expects what the model says.
func (m *sessionModel) use(s *modelSession, channel *rawpeer.Peer) {
	got := s.On(channel).Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}})
	want := ua.Good
	switch {
	case !s.alive:
		want = ua.BadSessionIDInvalid
	case channel != s.channel:
		want = ua.BadSecureChannelIDInvalid
	case !s.active:
		want, s.alive = ua.BadSessionNotActivated, false
	default:
		s.last = time.Now()
	}
	m.note("Read", s, channel, got, want)
	synctest.Wait()
}

func (m *sessionModel) read() {
	s, channel := m.pick()
	m.use(s, channel)
}

// foreignRead uses a token that the server never gave.
func (m *sessionModel) foreignRead() {
	channel := m.channels[m.random.IntN(3)]
	token := make([]byte, 32)
	token[31] = byte(m.random.Uint32())
	s := &rawpeer.Session{Peer: channel, Token: ua.OpaqueID(0, token)}
	got := s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}})
	m.note("Read", nil, channel, got, ua.BadSessionIDInvalid)
}

func (m *sessionModel) close() {
	s, channel := m.pick()
	deleting := m.random.IntN(2) == 0
	got := s.On(channel).Result(&ua.CloseSessionRequest{DeleteSubscriptions: deleting})
	want := ua.Good
	switch {
	case !s.alive:
		want = ua.BadSessionIDInvalid
	case channel != s.channel:
		want = ua.BadSecureChannelIDInvalid
	default:
		s.alive = false
		if !deleting {
			m.orphans += len(s.subscriptions)
		}
	}
	m.note("CloseSession", s, channel, got, want)
}

func (m *sessionModel) subscribe() {
	s, _ := m.pick()
	if !m.usable(s) || len(s.subscriptions) == 3 {
		return
	}
	s.subscriptions = append(s.subscriptions, rawpeer.Do[*ua.CreateSubscriptionResponse](s.On(s.channel), &ua.CreateSubscriptionRequest{
		RequestedPublishingInterval: 10_000, RequestedLifetimeCount: 360, RequestedMaxKeepAliveCount: 100,
	}).SubscriptionID)
	s.last = time.Now()
}

// transfer takes a subscription over: the same user may, and of strangers without
// a certificate nobody (Part 4, 5.14.7.1).
func (m *sessionModel) transfer() {
	to, _ := m.pick()
	from, _ := m.pick()
	if !m.usable(to) || !from.alive || len(from.subscriptions) == 0 {
		return
	}
	id := from.subscriptions[0]
	resp := rawpeer.Do[*ua.TransferSubscriptionsResponse](to.On(to.channel), &ua.TransferSubscriptionsRequest{SubscriptionIDs: []uint32{id}})
	to.last = time.Now()
	want := ua.Good
	if to != from && (to.user == "" || to.user != from.user) {
		want = ua.BadUserAccessDenied
	}
	m.note("TransferSubscriptions", from, to.channel, resp.Results[0].StatusCode, want)
	if want == ua.Good {
		from.subscriptions = from.subscriptions[1:]
		to.subscriptions = append(to.subscriptions, id)
	}
}

// breakChannel ends a connection: sessions that were activated outlive it.
func (m *sessionModel) breakChannel() {
	i := m.random.IntN(len(m.channels))
	m.history = append(m.history, fmt.Sprintf("channel %d breaks", i))
	m.channels[i].Conn.Close()
	synctest.Wait()
	for _, s := range m.sessions {
		if s.channel == m.channels[i] && !s.active {
			s.alive = false
		}
	}
	m.channels[i] = m.w.dial()
}

func (m *sessionModel) wait() {
	seconds := []int{1, 7, 20, 45}[m.random.IntN(4)]
	m.history = append(m.history, fmt.Sprintf("%d seconds pass", seconds))
	time.Sleep(time.Duration(seconds) * time.Second)
	synctest.Wait()
	for _, s := range m.sessions {
		limit := modelTimeout
		if !s.active {
			limit = modelActivation
		}
		if s.alive && time.Since(s.last) > limit {
			s.alive = false
			m.orphans += len(s.subscriptions) // which have a lifetime of their own (Part 4, 5.7.2.1)
		}
	}
}

// check compares what the server holds.
func (m *sessionModel) check() {
	synctest.Wait()
	sessions, subscriptions := 0, m.orphans
	for _, s := range m.sessions {
		if s.alive {
			sessions++
			subscriptions += len(s.subscriptions)
		}
	}
	stats := m.w.Stats()
	if got := fmt.Sprint(stats.Sessions.Sessions, stats.Subscriptions.Subscriptions); got != fmt.Sprint(sessions, subscriptions) {
		m.t.Errorf("the server has %s sessions and subscriptions, the model %d %d", got, sessions, subscriptions)
	}
}

// end lets go of everything.
func (m *sessionModel) end() {
	for _, c := range m.channels {
		c.Conn.Close()
	}
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	m.sessions, m.orphans = nil, 0
	m.check()
	if n := m.w.Stats().Channels.Channels; n != 0 {
		m.t.Errorf("%d channels are left", n)
	}
}
