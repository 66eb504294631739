package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	_ "net/http/pprof" // the handlers of -pprof
	"os"
	"runtime"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/sessionactor"
)

// firstScalar and scalars are the writable Int32 variables of the o6 OPC UA
// benchmarks: ns=1;i=1001 to ns=1;i=1100.
const (
	firstScalar = 1001
	scalars     = 100
)

// serve runs uahive with the benchmark's address space until it is interrupted.
func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("uaload serve", flag.ContinueOnError)
	endpoint := flags.String("endpoint", "opc.tcp://127.0.0.1:4841", "address to listen on")
	sessions := flags.Int("max-sessions", 10_000, "largest number of sessions")
	profile := flags.String("pprof", "", "address of a profiling page, such as 127.0.0.1:6060")
	verbose := flags.Bool("v", false, "log life-cycle events")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *profile != "" {
		go func() { fmt.Fprintln(os.Stderr, "uaload: -pprof:", http.ListenAndServe(*profile, nil)) }()
	}
	start := time.Now()
	log := zerolog.Nop()
	if *verbose {
		log = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr}).With().Timestamp().Logger()
	}
	srv, err := uahive.New(uahive.Config{
		Endpoint: *endpoint, ApplicationURI: "urn:uahive:uaload", PKI: "memory", TrustAll: true, Logger: log,
		Security: append(uahive.SecurePolicies(), uahive.NoSecurity),
		Limits: uahive.Limits{
			Sessions: *sessions, MaxMessage: 64 << 20, ArrayLength: 16 << 20,
			Channels: channelactor.Limits{AssemblyBytes: 1 << 30},
			Services: sessionactor.Limits{NodesPerRead: 100_000, NodesPerWrite: 100_000},
		},
	})
	if err != nil {
		return err
	}
	for i := range scalars {
		_, err := srv.Space().AddNode(addrspace.NodeSpec{
			ID: ua.NumericID(1, uint32(firstScalar+i)), Class: ua.NodeClassVariable,
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: fmt.Sprint("BenchmarkValue", i)},
			Parent:     ua.NumericID(0, id.ObjectsFolder), ReferenceType: ua.NumericID(0, id.Organizes),
			Value: ua.VariantOf(int32(i)), AccessLevel: addrspace.ReadWrite,
		})
		if err != nil {
			return err
		}
	}
	l, err := srv.Listen()
	if err != nil {
		return err
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	fmt.Printf("ready %s pid %d, started in %d ms, heap %.1f MiB\n", *endpoint, os.Getpid(),
		time.Since(start).Milliseconds(), float64(mem.HeapAlloc)/(1<<20))
	return srv.ServeListener(ctx, l)
}
