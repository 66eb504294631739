package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// A mistake in a flag is told before anything else, with the flag, its value and
// what to write instead.
func TestMistakesAreExplained(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"read -clients 0", `-clients = "0": write a number from 1 on`},
		{"read -inflight 70000", `-inflight = "70000": write a number from 1 to 65000`},
		{"read -nodes -1", `-nodes = "-1": write a number from 1 on`},
		{"read -duration 0s", `-duration = "0s": write a time like "10s"`},
		{"read -warmup -1s", `-warmup = "-1s": write a time like "2s", or 0`},
		{"read -timeout 0s", `-timeout = "0s": write a time like "10s"`},
		{"read -endpoint localhost:4840", `-endpoint = "localhost:4840": write a URL like "opc.tcp://127.0.0.1:4841"`},
		{"read -security Basic128", `-security = "Basic128": write "None", "Basic256Sha256/SignAndEncrypt" or another policy and mode`},
		{"read -pid 2147483647", `-pid = "2147483647": write the id of a process that runs on this machine`},
		{"read -node 1001", `-node = "1001": write a NodeId like "ns=1;i=1001"`},
		{"read -spread 0", `-spread = "0": write a number from 1 on`},
		{"read -node i=4294967295 -spread 2", `-spread = "2": write fewer`},
		{"read -array -1", `-array = "-1": write the number of elements`},
		{"read -array 921600 -nodes 100", `-nodes = "100": write fewer: arrays of 921600 elements take 351 MB of a message`},
		{"write stray", `"stray" is no flag`},
		{"browse -node Objects", `-node = "Objects": write a NodeId like "i=85"`},
		{"browse -classes 256", `-classes = "256": write a mask of node classes`},
		{"array -size 8k", `-size = "8k": write "hd", "4k", or a number of elements`},
		{"array -op delete", `-op = "delete": write "read" or "write"`},
		{"subscribe -rate 0", `-rate = "0": write a number of changes per second above 0`},
		{"subscribe -rate NaN", `-rate = "NaN": write a number of changes per second above 0`},
		{"subscribe -items 0", `-items = "0": write a number from 1 on`},
		{"subscribe -subscriptions 0", `-subscriptions = "0": write a number from 1 on`},
		{"subscribe -publishing 0s", `-publishing = "0s": write an interval like "100ms"`},
		{"subscribe -queue -1", `-queue = "-1": write a number of values, or 0 for enough`},
		{"subscribe -node ns=2;s=one -nodes 2", `-nodes = "2": write 1`},
		{"sessions -sessions 0", `-sessions = "0": write a number from 1 on`},
		{"sessions -duration -1s", `-duration = "-1s": write a time like "10s"`},
		{"sessions -write -1s", `-write = "-1s": write an interval from "1ms" on`},
		{"sessions -write 5us", `-write = "5µs": write an interval from "1ms" on`},
		{"sessions -queue 0", `-queue = "0": write a number of values from 1 on`},
		{"sessions -connecting 0", `-connecting = "0": write a number from 1 on`},
		{"sessions -subscribing 0", `-subscribing = "0": write a number from 1 on`},
		{"sessions -inflight 1", `-inflight = "1": write a number from 2 to 65000`},
		{"sessions -node one", `-node = "one": write a NodeId like "ns=1;i=1001"`},
		{"sessions -sessions 1000000000", `-sessions = "1000000000": write fewer: this process may open`},
		{"serve -security best", `-security = "best": write "None", "Basic256Sha256/SignAndEncrypt" or both`},
		{"serve -security None,None", `Security[1]`},
		{"serve -endpoint 127.0.0.1", `-endpoint = "127.0.0.1": write a URL`},
		{"serve -array-sizes 10,many", `-array-sizes = "10,many": write numbers of elements`},
		{"serve -nodes -1", `-nodes = "-1": write a number from 0 to 10000000`},
		{"serve -max-sessions 0", `-max-sessions = "0": write a number from 1 on`},
	} {
		err := run(context.Background(), strings.Fields(c.args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("uaload %s:\n got %v\nwant %s", c.args, err, c.want)
		}
	}
}

// The help of each command begins with what it does and how it is called, and
// every example in it can be parsed.
func TestHelpHasExamplesThatParse(t *testing.T) {
	for _, c := range commands {
		if len(c.examples) == 0 || !strings.HasPrefix(c.examples[0], "uaload "+c.name) {
			t.Errorf("%s has no example", c.name)
		}
		for _, example := range c.examples {
			words := strings.Fields(strings.ReplaceAll(example, "'", ""))
			for i, w := range words {
				if strings.HasPrefix(w, "$(pgrep") {
					words = append(words[:i:i], "1")
					break
				}
			}
			// A word that is no flag, behind all flags: whoever gets to it has
			// understood the rest.
			err := run(context.Background(), append(words[1:], "stray"), io.Discard)
			if err == nil || !strings.Contains(err.Error(), `"stray" is no flag`) {
				t.Errorf("%s: %v", example, err)
			}
		}
	}
}

// A port that is taken is a mistake in -endpoint, and nobody listening another.
func TestWhoeverCannotBeReachedIsNamed(t *testing.T) {
	used := listen(t)
	err := run(context.Background(), []string{"serve", "-endpoint", used, "-array-sizes", "none"}, io.Discard)
	var m *mistake
	if !errors.As(err, &m) || m.flag != "endpoint" {
		t.Errorf("serve on a port that is taken: %v", err)
	}
	err = run(context.Background(), []string{"read", "-endpoint", "opc.tcp://127.0.0.1:1", "-json"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "no server answers at opc.tcp://127.0.0.1:1") {
		t.Errorf("read without a server: %v", err)
	}
}
