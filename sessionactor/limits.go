package sessionactor

import "time"

// Limits bounds what clients can take through services. A zero field takes its
// default. All of them are published under ServerCapabilities.
type Limits struct {
	// Sessions is the number of sessions, activated or not. At the limit the
	// oldest one that was never activated makes room, or that was activated, never
	// used, and has lost its channel; when there is none, the answer is
	// BadTooManySessions. Default 10,000.
	Sessions int
	// MinSessionTimeout and MaxSessionTimeout bound the revised session
	// time-out. The maximum stops sessions that are never given back. Defaults
	// 10 s and 1 h.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// ActivationTimeout is how long a session may stay unactivated, and how long
	// one stays that was activated, never used, and has lost its channel. Default
	// 30 s.
	ActivationTimeout time.Duration
	// BrowseContinuationPoints is the number that one session may hold; beyond
	// it the answer is BadNoContinuationPoints. Default 50.
	BrowseContinuationPoints int
	// RegisteredNodes is the number of nodes that one session may have
	// registered. Default 100,000.
	RegisteredNodes int
	// Operation limits of one request (Part 5, 6.3.11); beyond them the answer
	// is BadTooManyOperations. Default 10,000 each, 1,000 for Call.
	NodesPerRead, NodesPerWrite, NodesPerBrowse, NodesPerTranslate, NodesPerRegister int
	MethodsPerCall, ItemsPerCall                                                     int
	// ReferencesPerNode is the number of references in one browse result,
	// whatever the client asks for; the rest needs BrowseNext. Default 10,000.
	ReferencesPerNode int
	// PathElements is the number of elements in one relative path. It stops
	// paths that bounce through the address space. Default 100.
	PathElements int
	// PathTargets is the number of nodes that one relative path may reach,
	// counted at each step; beyond it the answer is BadTooManyMatches.
	// Default 1,000.
	PathTargets int
	// StringLength, ByteStringLength and ArrayLength bound decoded values.
	// Defaults 1 MiB, 4 MiB and 1 Mi elements.
	StringLength, ByteStringLength, ArrayLength int
	// WaitingBytes is the encoded size of all requests that wait for the worker
	// pool, or run there. It stops large requests, which take many times their
	// size when they are decoded, from piling up behind slow user code; beyond it
	// the answer is BadServerTooBusy. Default 16 MiB, and at least four of the
	// largest requests.
	WaitingBytes int
	// ServeTime is how long one request may take where it arrived, so that a
	// few thousand expensive operations (writes that thousands of monitored
	// items see, browse paths through large folders) do not hold a core for
	// minutes; the operations that are left are BadTimeout. Default 2 s.
	ServeTime time.Duration
	// Activations is the number of ActivateSession requests that wait for one
	// session. Default 16.
	Activations int
	// BadLogins is how many logins a client may get wrong before it has to wait, by
	// its certificate, or by its host where it has none; one is forgotten every
	// 10 s. After each one above that, the client's logins are BadServerTooBusy, with
	// a hint, for 1 s, 2 s and so on up to 1 min. Clients with certificates from one
	// host have ten times as many together. Users are not counted, so that nobody
	// can lock another one out. Default 20; negative: no limit.
	BadLogins int
	// RefusalTime is how long a refused login takes at the least, so that the time
	// does not tell a wrong password from a forged one. Default 250 ms; negative:
	// no longer than it takes.
	RefusalTime time.Duration
	// CallTimeout ends calls into user code whose client gave no TimeoutHint,
	// or a longer one. Default 60 s.
	CallTimeout time.Duration
}

// WithDefaults returns the limits with every zero field replaced.
func (l Limits) WithDefaults() Limits {
	setDefault(&l.Sessions, 10_000)
	setDefault(&l.MinSessionTimeout, 10*time.Second)
	setDefault(&l.MaxSessionTimeout, time.Hour)
	l.MaxSessionTimeout = max(l.MaxSessionTimeout, l.MinSessionTimeout)
	setDefault(&l.ActivationTimeout, 30*time.Second)
	setDefault(&l.BrowseContinuationPoints, 50)
	setDefault(&l.RegisteredNodes, 100_000)
	for _, v := range []*int{
		&l.NodesPerRead, &l.NodesPerWrite, &l.NodesPerBrowse, &l.NodesPerTranslate, &l.NodesPerRegister, &l.ItemsPerCall,
	} {
		setDefault(v, 10_000)
	}
	setDefault(&l.MethodsPerCall, 1000)
	setDefault(&l.ReferencesPerNode, 10_000)
	setDefault(&l.PathElements, 100)
	setDefault(&l.PathTargets, 1000)
	setDefault(&l.StringLength, 1<<20)
	setDefault(&l.ByteStringLength, 4<<20)
	setDefault(&l.ArrayLength, 1<<20)
	setDefault(&l.WaitingBytes, 16<<20)
	setDefault(&l.ServeTime, 2*time.Second)
	setDefault(&l.Activations, 16)
	if l.BadLogins == 0 {
		l.BadLogins = 20
	}
	if l.RefusalTime == 0 {
		l.RefusalTime = 250 * time.Millisecond
	}
	setDefault(&l.CallTimeout, time.Minute)
	return l
}

func setDefault[T int | time.Duration](v *T, def T) {
	if *v <= 0 {
		*v = def
	}
}
