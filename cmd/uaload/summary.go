package main

import (
	"context"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// summary reads what a server says of its sessions in its diagnostics (Part 5,
// 6.3.3 and 12.9), which it need not do.
type summary struct {
	client *client.Client
}

// read is the number of sessions that the server has now; -1 where it does not
// say.
func (s *summary) read(ctx context.Context) int64 {
	return s.counter(ctx, id.Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSessionCount)
}

// cumulated is the number of sessions that the server has had so far; -1 where
// it does not say.
func (s *summary) cumulated(ctx context.Context) int64 {
	return s.counter(ctx, id.Server_ServerDiagnostics_ServerDiagnosticsSummary_CumulatedSessionCount)
}

func (s *summary) counter(ctx context.Context, node uint32) int64 {
	dv, err := s.client.ReadValue(ctx, ua.NumericID(0, node))
	n, ok := ua.As[uint32](dv.Value)
	if err != nil || !ok {
		return -1
	}
	return int64(n)
}
