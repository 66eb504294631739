package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/uahive/uahive/codec/ua"
)

// script runs steps against an ordering and returns what came of each.
//
//	5        message 5 arrives; 5/4,5 with what the server still has
//	k5       keep-alive with number 5
//	r        a new channel; r/4,5
//	+5 -5    Republish brought message 5, or the server does not have it
//	?        Republish failed
func script(o *ordering, steps string) string {
	var out []string
	for step := range strings.FieldsSeq(steps) {
		verb, list, _ := strings.Cut(step, "/")
		var available []uint32
		for s := range strings.SplitSeq(list, ",") {
			var n uint32
			if _, err := fmt.Sscan(s, &n); err == nil {
				available = append(available, n)
			}
		}
		var n uint32
		fmt.Sscan(strings.TrimLeft(verb, "kr+-?"), &n)
		message := notificationOf(n, 1)
		switch verb[0] {
		case 'k':
			o.arrive(ua.NotificationMessage{SequenceNumber: n}, available)
		case 'r':
			o.resume(available)
		case '+':
			o.answered(n, &message)
		case '-':
			o.answered(n, nil)
		case '?':
			o.unanswered(o.asking)
		default:
			o.arrive(message, available)
		}
		var did []string
		for _, m := range o.ready {
			did = append(did, fmt.Sprint(m.SequenceNumber))
		}
		o.ready = nil
		if n := o.ask(); n != 0 {
			did = append(did, fmt.Sprintf("ask%d", n))
		}
		if o.missed > 0 {
			did = append(did, fmt.Sprintf("lost%d", o.missed))
		}
		if o.duplicates > 0 {
			did = append(did, fmt.Sprintf("dup%d", o.duplicates))
		}
		o.missed, o.duplicates = 0, 0
		if did == nil {
			did = []string{"-"}
		}
		out = append(out, strings.Join(did, "+"))
	}
	return strings.Join(out, " ")
}

// Part 4, 5.14.1.3 and 6.7.
func TestMessagesAreTakenInOrderAndOnce(t *testing.T) {
	for _, tt := range []struct{ name, steps, want string }{
		{"in order", "1 2 3", "1 2 3"},
		{"keep-alives say nothing new", "k1 1 k2 k2 2", "- 1 - - 2"},
		{"a gap is asked for", "1 3/2,3 +2 4", "1 ask2 2+3 4"},
		{"a wide gap", "1 5/2,3,4,5 +2 +3 +4", "1 ask2 2+ask3 3+ask4 4+5"},
		{"what the server lost is passed over", "1 5/4,5 +4", "1 ask4+lost2 4+5"},
		{"nothing to be had", "1 5/5 6", "1 5+lost3 6"},
		{"Republish has it no more", "1 4/2,3,4 -2 +3", "1 ask2 ask3+lost1 3+4"},
		{"responses overtake each other", "1 3/2,3 2/2,3 +2", "1 ask2 2+3 dup1"},
		{"a keep-alive shows what is missing", "1 k3/2 +2", "1 ask2 2"},
		{"a message comes twice", "1 1 2 1", "1 dup1 2 dup1"},
		{"Republish failed and is sent again", "1 3/2,3 ? +2", "1 ask2 ask2 2+3"},
		{"resumed, nothing missing", "1 2 r -3 3", "1 2 ask3 - 3"},
		{"resumed, two were sent meanwhile", "1 r +2 +3 -4 4", "1 ask2 2+ask3 3+ask4 - 4"},
		{"resumed, Publish is faster than Republish", "1 r 2/2 +2", "1 ask2 2 ask3+dup1"},
		{"resumed in the middle of a gap", "1 3/2,3 r +2 -4", "1 ask2 ask2 2+3+ask4 -"},
		{"transferred with what the server has", "1 r/3,4 +3 +4 -5", "1 ask3+lost1 3+ask4 4+ask5 -"},
		{"resumed before the first message", "r -1 1", "ask1 - 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o ordering
			o.reset()
			if got := script(&o, tt.steps); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.steps, got, tt.want)
			}
		})
	}
}

// Part 4, 7.25.1: the number behind the largest is 1.
func TestSequenceNumbersWrapToOne(t *testing.T) {
	o := ordering{last: 1<<32 - 2, end: 1<<32 - 1}
	if got, want := script(&o, "4294967295 1 3/2,3 +2"), "4294967295 1 ask2 2+3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAcknowledgementsAreSentAgainAfterResume(t *testing.T) {
	var o ordering
	o.reset()
	script(&o, "1 2 3")
	o.acks = nil // they were on their way when the connection broke
	script(&o, "r -4 4/2,3,4")
	if want := []uint32{2, 3, 4}; !slices.Equal(o.acks, want) {
		t.Errorf("acknowledges %v, want %v", o.acks, want)
	}
}

// A server that keeps a message out of reach cannot fill the memory.
func TestMessagesBehindAGapAreBounded(t *testing.T) {
	var o ordering
	o.reset()
	for n := uint32(2); n < 1000; n++ {
		o.arrive(notificationOf(n, 1), []uint32{1})
		o.ask()
	}
	if len(o.held) > heldMost+1 || len(o.ready) < 700 {
		t.Errorf("%d held, %d delivered", len(o.held), len(o.ready))
	}
}

// A server that keeps everything until it is acknowledged, and a network that
// loses, doubles and reorders responses and breaks: every message is taken once
// and in order.
func TestOrderingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var o ordering
		o.reset()
		kept := map[uint32]bool{}
		available := func() (list []uint32) {
			for n := range kept {
				list = append(list, n)
			}
			return list
		}
		var sent, taken uint32
		var inFlight []ua.NotificationMessage
		asked := uint32(0)
		collect := func() {
			for _, m := range o.ready {
				if taken++; m.SequenceNumber != taken {
					t.Fatalf("took %d where %d was due", m.SequenceNumber, taken)
				}
			}
			o.ready = nil
			if n := o.ask(); n != 0 {
				asked = n
			}
			if o.missed != 0 {
				t.Fatalf("gave up %d messages that the server has", o.missed)
			}
		}
		answer := func() {
			if asked == 0 {
				return
			}
			n := asked
			asked = 0
			if kept[n] {
				m := notificationOf(n, 1)
				o.answered(n, &m)
			} else {
				o.answered(n, nil)
			}
		}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"send", "send", "lose", "deliver", "deliver", "twice", "keepalive", "answer", "ack", "break"}).Draw(t, "step") {
			case "send":
				sent++
				kept[sent] = true
				inFlight = append(inFlight, notificationOf(sent, 1))
			case "lose":
				sent++
				kept[sent] = true
			case "deliver":
				if len(inFlight) > 0 {
					i := rapid.IntRange(0, min(len(inFlight)-1, 2)).Draw(t, "which")
					o.arrive(inFlight[i], available())
					inFlight = slices.Delete(inFlight, i, i+1)
				}
			case "twice":
				if len(inFlight) > 0 {
					o.arrive(inFlight[0], available())
				}
			case "keepalive":
				if len(inFlight) == 0 {
					o.arrive(ua.NotificationMessage{SequenceNumber: sent + 1}, available())
				}
			case "answer":
				answer()
			case "ack":
				for _, n := range o.acks {
					delete(kept, n)
				}
				o.acks = nil
			case "break":
				inFlight, asked = nil, 0
				o.resume(nil)
			}
			collect()
		}
		inFlight, asked = nil, 0
		o.resume(nil)
		for collect(); asked != 0; collect() {
			answer()
		}
		if taken != sent {
			t.Fatalf("took %d of %d messages", taken, sent)
		}
	})
}
