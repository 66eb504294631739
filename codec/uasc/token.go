package uasc

import "time"

// Token is one security token of a channel: its ids, its life and the keys of
// both directions. The sending half is used by the Sealer alone and the
// receiving half by the Opener alone, so the two may live on different
// goroutines; the exported fields are immutable.
type Token struct {
	ChannelID uint32
	ID        uint32
	Created   time.Time
	Lifetime  time.Duration
	Policy    *Policy
	Mode      Mode

	send sealKeys
	recv openKeys
}

// TokenConfig says what a Token is made of.
type TokenConfig struct {
	Policy      *Policy
	Mode        Mode
	ChannelID   uint32
	ID          uint32 // never 0: a widespread client takes 0 for "no token"
	LocalNonce  []byte // the nonce that this side sent
	RemoteNonce []byte // the nonce that the peer sent
	Created     time.Time
	Lifetime    time.Duration // as revised; 0 means that the token does not expire
}
