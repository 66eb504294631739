package uahive

import (
	"context"
	"errors"
	"net"
	"testing"
)

// Serve serves the listener that Listen opened, so that a program may learn its
// port first.
func TestServeUsesTheListenerThatWasOpened(t *testing.T) {
	srv := memoryServer(t, Config{Endpoint: "opc.tcp://127.0.0.1:0", ShutdownDelay: -1})
	l, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	again, err := srv.Listen()
	if err != nil || again != l {
		t.Errorf("a second Listen opened another one: %v", err)
	}
	address := l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx) }()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if srv.Addr().String() != address {
		t.Errorf("serves %v, opened %v", srv.Addr(), address)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := srv.Listen(); !errors.Is(err, ErrClosed) {
		t.Errorf("Listen after the end: %v", err)
	}
}

// A port in use is reported with the field and what to do.
func TestPortInUseIsAConfigError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	srv := memoryServer(t, Config{Endpoint: "opc.tcp://" + l.Addr().String()})
	err = srv.Serve(t.Context())
	var wrong *ConfigError
	if !errors.As(err, &wrong) || wrong.Field != "Endpoint" {
		t.Errorf("%v", err)
	}
}
