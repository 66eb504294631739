package uasc

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// How long a chunk takes to be refused does not say whether its padding was good,
// or how much of the signature was: the signature is computed over all of it and
// compared in one time, and the padding is not looked at before. Whether two samples
// can be told apart is asked as Crosby, Wallach and Riedi do: whether the ranges
// between two lower quantiles, which noise reaches least, do not touch. A chunk that
// is a twentieth longer must be told apart, else the machine is too loud to ask.
func TestThreat_S8_ChunkTiming(t *testing.T) {
	n, attempts := 600, 8
	if raceEnabled {
		n = 100
	}
	for _, s := range []suite{{Basic256Sha256, ModeSignAndEncrypt}, {Aes256Sha256RsaPss, ModeSignAndEncrypt}} {
		l := s.link(t, Limits{}, nil)
		good := l.seal(t, 1, pattern(20_000))
		signature := bytes.Clone(good) // wrong in its first byte
		signature[len(good)-s.policy.signature] ^= 1
		end := bytes.Clone(good) // wrong in its last one
		end[len(good)-1] ^= 1
		padding := bytes.Clone(good) // of CBC, what is changed in a block changes the same bits of the next one
		padding[len(good)-s.policy.signature-1-s.policy.block] ^= 0x55
		longer := l.seal(t, 2, pattern(21_000))
		longer[len(longer)-1] ^= 1
		frames := [][]byte{padding, signature, end, longer}
		scratch := make([]byte, len(longer))
		seen, heard := 0, 0
		for range attempts {
			times := make([][]time.Duration, len(frames))
			for range n {
				for _, i := range rand.Perm(len(frames)) {
					chunk := scratch[:copy(scratch, frames[i])]
					start := time.Now()
					_, err := l.opener.Open(chunk)
					times[i] = append(times[i], time.Since(start))
					if err != errSecurity {
						t.Fatalf("frame %d: %v", i, err)
					}
				}
			}
			for i := range times {
				slices.Sort(times[i])
			}
			apart := func(a, b []time.Duration) bool {
				low, high := n/10, 4*n/10
				return a[high] < b[low] || b[high] < a[low]
			}
			if !apart(times[0], times[3]) {
				continue
			}
			heard++
			if !apart(times[0], times[1]) && !apart(times[0], times[2]) && !apart(times[1], times[2]) {
				break
			}
			seen++
		}
		switch {
		case heard == 0:
			t.Errorf("%v: a longer chunk was never told apart, so nothing was measured", s)
		case seen == heard:
			t.Errorf("%v: chunks were told apart %d times of %d", s, seen, heard)
		}
	}
}
