package sessionactor

import (
	"context"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// BindServerMethods gives the methods of the Server object what they run:
// GetMonitoredItems and ResendData (Part 5, 9.1 and 9.2). Both act on
// subscriptions of the calling session only.
func (s *Service) BindServerMethods() {
	s.bindMethod(id.Server_GetMonitoredItems, s.getMonitoredItems)
	s.bindMethod(id.Server_ResendData, s.resendData)
}

func (s *Service) bindMethod(node uint32, run addrspace.MethodFunc) {
	if n := s.config.Space.Node(ua.NumericID(0, node)); n != nil {
		n.SetMethod(&addrspace.Method{Func: run, Inline: true})
	}
}

// callingSession returns the session behind a context of a Call, and the
// subscription id that is the only argument of these methods.
func callingSession(ctx context.Context, c *addrspace.Call) (*Session, uint32, error) {
	caller, ok := CallerFrom(ctx)
	if !ok || caller.session == nil {
		return nil, 0, ua.BadSessionIDInvalid
	}
	subscription, ok := ua.As[uint32](c.Inputs[0])
	if !ok {
		return nil, 0, ua.BadInvalidArgument
	}
	return caller.session, subscription, nil
}

func (s *Service) getMonitoredItems(ctx context.Context, c *addrspace.Call) error {
	session, subscription, err := callingSession(ctx, c)
	if err != nil {
		return err
	}
	server, client, code := s.config.Subscriptions.GetMonitoredItems(session.queue, subscription)
	if code != ua.Good {
		return code
	}
	c.Outputs = []ua.Variant{ua.SliceVariant(server), ua.SliceVariant(client)}
	return nil
}

func (s *Service) resendData(ctx context.Context, c *addrspace.Call) error {
	session, subscription, err := callingSession(ctx, c)
	if err != nil {
		return err
	}
	return s.config.Subscriptions.ResendData(session.queue, subscription).Err()
}
