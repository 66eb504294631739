// Command compare serves the address space of "uaload serve" with gopcua's server, so that the same loads can be run
// against both: see the script run beside it.
//
// It is written for gopcua as its own example is: node namespaces, a server certificate, anonymous users, no logger.
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/server"
	"github.com/gopcua/opcua/server/attrs"
	"github.com/gopcua/opcua/ua"
)

// The nodes of the benchmark, in namespace 1.
const (
	folder      = 1000
	firstScalar = 1001
	scalars     = 100
	firstArray  = 2001
)

func main() {
	endpoint := flag.String("endpoint", "opc.tcp://127.0.0.1:14842", "URL to listen on")
	sizes := flag.String("array-sizes", "921600", "elements of the Int32 arrays from ns=1;i=2001 on, separated by commas, or none")
	verbose := flag.Bool("v", false, "log what gopcua says")
	flag.Parse()
	if !*verbose {
		log.SetOutput(io.Discard) // gopcua says what it does by the log package, too
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *endpoint, *sizes, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, endpoint, sizes string, verbose bool) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	host, text, err := net.SplitHostPort(u.Host)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	key, cert, err := certificate(host)
	if err != nil {
		return err
	}
	options := []server.Option{
		server.EndPoint(host, port),
		server.EnableSecurity("None", ua.MessageSecurityModeNone),
		server.EnableSecurity("Basic256Sha256", ua.MessageSecurityModeSignAndEncrypt),
		server.EnableAuthMode(ua.UserTokenTypeAnonymous),
		server.PrivateKey(key), server.Certificate(cert),
	}
	if verbose {
		options = append(options, server.SetLogger(slog.Default()))
	}
	srv := server.New(options...)
	if err := fill(srv, sizes); err != nil {
		return err
	}
	if err := srv.Start(ctx); err != nil {
		return err
	}
	fmt.Printf("ready %s pid %d\n", endpoint, os.Getpid())
	<-ctx.Done()
	return srv.Close()
}

// fill adds the benchmark's nodes under Objects, the scalars in a folder of their own as well.
func fill(srv *server.Server, sizes string) error {
	ns := server.NewNodeNameSpace(srv, "urn:uahive:compare")
	zero, err := srv.Namespace(0)
	if err != nil {
		return err
	}
	objects := zero.Objects()
	same := server.NewNode( // server.NewFolderNode panics in this version
		ua.NewNumericNodeID(ns.ID(), folder),
		map[ua.AttributeID]*ua.DataValue{
			ua.AttributeIDNodeClass:   server.DataValueFromValue(uint32(ua.NodeClassObject)),
			ua.AttributeIDBrowseName:  server.DataValueFromValue(attrs.BrowseName("Benchmark")),
			ua.AttributeIDDisplayName: server.DataValueFromValue(attrs.DisplayName("Benchmark", "")),
			ua.AttributeIDDataType:    server.DataValueFromValue(ua.NewNumericExpandedNodeID(0, id.FolderType)),
		},
		nil, nil,
	)
	objects.AddRef(ns.AddNode(same), server.RefTypeIDOrganizes, true)
	add := func(number int, name string, value any) *server.Node {
		access := uint8(ua.AccessLevelTypeCurrentRead | ua.AccessLevelTypeCurrentWrite)
		held := server.DataValueFromValue(value)
		n := server.NewNode(
			ua.NewNumericNodeID(ns.ID(), uint32(number)),
			map[ua.AttributeID]*ua.DataValue{
				ua.AttributeIDNodeClass:       server.DataValueFromValue(uint32(ua.NodeClassVariable)),
				ua.AttributeIDBrowseName:      server.DataValueFromValue(attrs.BrowseName(name)),
				ua.AttributeIDDisplayName:     server.DataValueFromValue(attrs.DisplayName(name, "")),
				ua.AttributeIDDataType:        server.DataValueFromValue(ua.NewNumericExpandedNodeID(0, id.Int32)),
				ua.AttributeIDAccessLevel:     server.DataValueFromValue(access),
				ua.AttributeIDUserAccessLevel: server.DataValueFromValue(access),
			},
			nil,
			func() *ua.DataValue { return held },
		)
		ns.AddNode(n)
		objects.AddRef(n, server.RefTypeIDOrganizes, true)
		return n
	}
	for i := range scalars {
		same.AddRef(add(firstScalar+i, fmt.Sprint("BenchmarkValue", i), int32(i)), server.RefTypeIDOrganizes, true)
	}
	if sizes == "none" {
		return nil
	}
	for i, text := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return errors.New("-array-sizes: write numbers with commas between them, or none")
		}
		values := make([]int32, n)
		for j := range values {
			values[j] = int32(j)
		}
		add(firstArray+i, fmt.Sprint("BenchmarkArray", n), values)
	}
	return nil
}

// certificate makes one for this run.
func certificate(host string) (*rsa.PrivateKey, []byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "uahive comparison"},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment | x509.KeyUsageKeyEncipherment |
			x509.KeyUsageDataEncipherment | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		URIs:                  []*url.URL{{Scheme: "urn", Opaque: "uahive:compare"}},
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.ParseIP(host)},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	return key, der, err
}
