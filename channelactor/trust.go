package channelactor

import (
	"errors"
	"slices"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// recheckLines is how many lines of the log one change of the trust lists may cost.
const recheckLines = 20

// ClientCheck is what the certificate of a client has to be good for under a policy.
func ClientCheck(policy *uasc.Policy) pki.Check {
	return pki.Check{Use: pki.UseClient, MinKeyBits: policy.MinKeyBits, MaxKeyBits: policy.MaxKeyBits}
}

// Recheck asks again over the clients of all open channels, and closes the channels of those that are not
// acceptable any more: taken off the trust list, revoked, or of an authority that was (Part 12, 7.10.9).
// Others notice nothing. It is for the moment after the trust lists have changed.
func (s *Server) Recheck() {
	left := map[*pki.Parsed]int{}
	errs := map[*pki.Parsed]error{}
	for _, c := range s.admission.channels() {
		if err := c.recheck(); err != nil {
			left[c.peer]++
			errs[c.peer] = err
		}
	}
	lines := 0
	for peer, channels := range left {
		if lines++; lines > recheckLines {
			s.log.Warn().Int("certificates", len(left)-recheckLines).Msg("closed the channels of more clients that are not acceptable any more")
			return
		}
		event := s.log.Warn().Str("thumbprint", peer.ThumbprintString()).Int("channels", channels)
		var refused *pki.Error
		if errors.As(errs[peer], &refused) {
			event = event.Str("reason", refused.Reason).Stringer("code", refused.Detail)
		}
		event.Msg("closed the channels of a client that is not acceptable any more")
	}
}

// Renegotiate closes the channels that were opened with a certificate that the server no longer has, so that
// their clients come back and learn the new one (Part 12, 7.10.9). Sessions and subscriptions wait for them.
func (s *Server) Renegotiate() {
	for _, c := range s.admission.channels() {
		if c.opened.Load() && c.policy.Secure() && !slices.Contains(s.config.PKI.Certificates(), c.own) {
			c.close(CloseReason{Code: reasonRenewed, Status: ua.BadSecureChannelClosed})
		}
	}
}

// recheck closes the channel if its client is not acceptable any more, and says why. A channel that is not
// open yet asks when it is.
func (c *Channel) recheck() error {
	if !c.opened.Load() || c.peer == nil {
		return nil
	}
	err := c.server.config.PKI.Recheck(c.peer, ClientCheck(c.policy))
	if err != nil {
		c.close(CloseReason{Code: reasonTrust, Status: ua.StatusOf(err), Err: err})
	}
	return err
}
