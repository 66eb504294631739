package main

import (
	"flag"
	"fmt"
	"math"
	"net/url"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// mistake says which flag cannot be used, and what to write instead.
type mistake struct {
	flag, value, instead string
}

func (m *mistake) Error() string {
	return fmt.Sprintf("-%s = %q: %s", m.flag, m.value, m.instead)
}

// wrong makes a mistake of a flag's value.
func wrong(name string, value any, instead string, args ...any) error {
	return &mistake{name, fmt.Sprint(value), fmt.Sprintf(instead, args...)}
}

// target are the flags that say which server is loaded and how the result is
// printed. Every load has them.
type target struct {
	endpoint, security string
	timeout            time.Duration
	pid                int
	json               bool
}

// shape are the flags that say how much load there is. Their meaning is the
// same for every load that has them.
type shape struct {
	clients, inflight, nodes int
	duration, warmup         time.Duration
}

// flags returns the flag set of a command, whose help begins with examples.
func (c *command) flags() *flag.FlagSet {
	set := flag.NewFlagSet("uaload "+c.name, flag.ContinueOnError)
	set.Usage = func() {
		out := set.Output()
		fmt.Fprintf(out, "uaload %s: %s\n\nexamples:\n", c.name, c.what)
		for _, e := range c.examples {
			fmt.Fprintln(out, "  "+e)
		}
		fmt.Fprintln(out, "\nflags:")
		set.PrintDefaults()
	}
	return set
}

// parse parses the command line, which has nothing but flags.
func parse(set *flag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%s: %q is no flag; write -help to see the flags", set.Name(), set.Arg(0))
	}
	return nil
}

func (t *target) add(set *flag.FlagSet) {
	set.StringVar(&t.endpoint, "endpoint", "opc.tcp://127.0.0.1:4841", "`URL` of the server to load")
	set.StringVar(&t.security, "security", "None", "None, or `policy/mode` as in Basic256Sha256/SignAndEncrypt")
	set.DurationVar(&t.timeout, "timeout", 10*time.Second, "how long a request may take before it counts as BadTimeout, and how long connecting may take")
	set.IntVar(&t.pid, "pid", 0, "process id of the server, to measure its CPU time and memory")
	set.BoolVar(&t.json, "json", false, "print the result as JSON")
}

func (s *shape) add(set *flag.FlagSet, nodes int, whatNodes string) {
	set.IntVar(&s.clients, "clients", 1, "number of clients, each with a connection and a session of its own")
	set.IntVar(&s.inflight, "inflight", 1, "requests in flight on each client")
	set.IntVar(&s.nodes, "nodes", nodes, whatNodes)
	set.DurationVar(&s.duration, "duration", 10*time.Second, "how long to measure")
	set.DurationVar(&s.warmup, "warmup", 2*time.Second, "how long to run before measuring")
}

func (t *target) check() error {
	u, err := url.Parse(t.endpoint)
	switch {
	case err != nil || u.Scheme != "opc.tcp" || u.Hostname() == "":
		return wrong("endpoint", t.endpoint, `write a URL like "opc.tcp://127.0.0.1:4841"`)
	case t.timeout <= 0:
		return wrong("timeout", t.timeout, `write a time like "10s"`)
	case t.pid < 0:
		return wrong("pid", t.pid, "write the server's process id, or leave it out")
	}
	if _, err := client.ParseSecurity(t.security); err != nil {
		return wrong("security", t.security, `write "None", "Basic256Sha256/SignAndEncrypt" or another policy and mode`)
	}
	if t.pid > 0 {
		if _, err := process(t.pid).cpu(); err != nil {
			return wrong("pid", t.pid, "write the id of a process that runs on this machine (%v)", err)
		}
	}
	return nil
}

// mostInFlight is what a connection of the client can tell apart, without its
// own requests.
const mostInFlight = 65_000

func (s *shape) check() error {
	switch {
	case s.clients < 1:
		return wrong("clients", s.clients, "write a number from 1 on")
	case s.inflight < 1 || s.inflight > mostInFlight:
		return wrong("inflight", s.inflight, "write a number from 1 to %d", mostInFlight)
	case s.nodes < 1:
		return wrong("nodes", s.nodes, "write a number from 1 on")
	case s.duration <= 0:
		return wrong("duration", s.duration, `write a time like "10s"`)
	case s.warmup < 0:
		return wrong("warmup", s.warmup, `write a time like "2s", or 0`)
	}
	return nil
}

// nodeRange is a number of nodes whose numeric ids follow each other.
type nodeRange struct {
	text  string
	first ua.NodeID
	count int
}

func (r *nodeRange) add(set *flag.FlagSet) {
	set.StringVar(&r.text, "node", fmt.Sprintf("ns=1;i=%d", firstScalar), "the first `node`")
	set.IntVar(&r.count, "spread", scalars, "how many different nodes the requests name, from the first one on")
}

func (r *nodeRange) check() error {
	var err error
	if r.first, err = ua.ParseNodeID(r.text); err != nil || r.first.IsNull() {
		return wrong("node", r.text, `write a NodeId like "ns=1;i=1001"`)
	}
	if r.count < 1 {
		return wrong("spread", r.count, "write a number from 1 on")
	}
	if r.first.Type() != ua.IDTypeNumeric {
		r.count = 1 // there is no next one
	}
	if int64(r.first.Numeric())+int64(r.count)-1 > math.MaxUint32 {
		return wrong("spread", r.count, "write fewer: numeric ids end at %d", uint32(math.MaxUint32))
	}
	return nil
}

// at returns one of the nodes.
func (r *nodeRange) at(i int) ua.NodeID {
	if i == 0 {
		return r.first
	}
	return ua.NumericID(r.first.Namespace(), r.first.Numeric()+uint32(i))
}
