package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

func loadRead(ctx context.Context, c *command, args []string, out io.Writer) error {
	f, chosen, err := valueCommand(c, args)
	if err != nil {
		return err
	}
	return f.run(ctx, c, out, chosen, "", readWork)
}

// valueCommand parses the flags that read and write have in common. chosen says
// that the user named a node.
func valueCommand(c *command, args []string) (f *valueFlags, chosen bool, err error) {
	f = new(valueFlags)
	set := c.flags()
	f.target.add(set)
	f.shape.add(set, 1, "nodes in each request")
	f.nodeRange.add(set)
	set.IntVar(&f.array, "array", 0, "load an array of so many `elements`: the node of the benchmark that has it, unless -node is given; 0: scalars")
	if err = parse(set, args); err == nil {
		err = f.check()
	}
	set.Visit(func(given *flag.Flag) { chosen = chosen || given.Name == "node" })
	return f, chosen, err
}

// run runs a load of values and prints its result.
func (f *valueFlags) run(ctx context.Context, c *command, out io.Writer, chosen bool, operation string, plan func(*valueFlags, context.Context, *client.Client, ua.Variant) (*work, error)) error {
	r, err := runLoad(ctx, &f.target, &f.shape, func(ctx context.Context, c *client.Client) (*work, error) {
		value, err := f.aim(ctx, c, chosen)
		if err != nil {
			return nil, err
		}
		return plan(f, ctx, c, value)
	})
	if r == nil {
		return err
	}
	r.Command, r.Operation, r.ArrayElements = c.name, operation, f.array
	r.MegabytesPerSec = r.RequestsPerSecond * float64(f.array) * 4 * float64(f.nodes) / 1e6
	return printed(r.print(out, f.json), err)
}

// printed is the error of a run whose result was printed.
func printed(printing, running error) error {
	if running != nil {
		return running
	}
	return printing
}

// readWork prepares Read requests. The server must have all nodes of the first.
func readWork(f *valueFlags, ctx context.Context, c *client.Client, value ua.Variant) (*work, error) {
	var requests []*ua.ReadRequest
	for _, list := range named(f.nodeRange, f.nodes) {
		r := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth}
		for _, i := range list {
			r.NodesToRead = append(r.NodesToRead, client.ValueID(f.at(i)))
		}
		requests = append(requests, r)
	}
	var first ua.ReadResponse
	if err := c.Do(ctx, requests[0], &first); err != nil {
		return nil, err
	}
	if err := checkValues(first.Results, f.nodes, value); err != nil {
		return nil, err
	}
	prepared, err := prepare(requests)
	length := -1
	if value.IsArray() {
		length = value.Len()
	}
	return &work{
		requests: prepared,
		verify: func(body []byte) error {
			var resp ua.ReadResponse
			if err := decode(body, &resp); err != nil {
				return err
			}
			return checkValues(resp.Results, f.nodes, value)
		},
		check: func(body []byte, bad *tally) bool { return checkRead(body, f.nodes, length, bad) },
	}, err
}

// checkValues judges decoded results of a Read: each is good and of the same
// kind as the value.
func checkValues(results []ua.DataValue, nodes int, like ua.Variant) error {
	if err := sameCount(nodes, len(results)); err != nil {
		return err
	}
	for i := range results {
		v := &results[i]
		switch {
		case v.Status.IsBad():
			return fmt.Errorf("node %d of %d in a request: %w", i+1, nodes, v.Status)
		case v.Value.Type() != like.Type() || v.Value.Len() != like.Len():
			return fmt.Errorf("node %d of %d in a request is %s and not %s: %w", i+1, nodes, kind(v.Value), kind(like), ua.BadTypeMismatch)
		}
	}
	return nil
}

// checkRead looks at all results of a ReadResponse, without decoding values:
// each must carry one, of the right length where it is an array, and no Bad
// status.
func checkRead(body []byte, nodes, length int, bad *tally) bool {
	count, rest, ok := results(body)
	if !ok || count != nodes {
		bad.add(ua.BadUnknownResponse)
		return false
	}
	good := true
	for range count {
		v, ok := peek(rest)
		if !ok {
			bad.add(ua.BadDecodingError)
			return false
		}
		rest = rest[v.size:]
		switch {
		case v.status.IsBad():
			bad.add(v.status)
		case !v.value:
			bad.add(ua.BadNoData)
		case v.length != length:
			bad.add(ua.BadTypeMismatch)
		default:
			continue
		}
		good = false
	}
	return good
}
