package pki

import (
	"bytes"
	"crypto/x509"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestInternSharesOneCopy: ten thousand channels of one client hold one certificate.
func TestInternSharesOneCopy(t *testing.T) {
	der := selfSigned(t)
	first, err := Intern(der)
	ok(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				// The blob of a receive buffer, with a chain behind it.
				again, err := Intern(append(bytes.Clone(der), 1, 2, 3))
				if err != nil || again != first {
					t.Errorf("got %p, %v, want %p", again, err, first)
					return
				}
			}
		})
	}
	wg.Wait()
	if &first.DER[0] == &der[0] {
		t.Error("the certificate aliases the receive buffer")
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = Intern(der) }); allocs != 0 {
		t.Errorf("%v allocations for a known certificate", allocs)
	}
	runtime.KeepAlive(first)
}

// TestInternForgetsWhatNobodyUses: strangers cannot fill the memory with certificates.
func TestInternForgetsWhatNobodyUses(t *testing.T) {
	der := selfSigned(t)
	kept, err := Intern(der)
	ok(t, err)
	for serial := range uint16(1000) {
		_, err := Intern(withSerial(t, der, serial))
		ok(t, err)
	}
	entries := func() int {
		interned.mu.Lock()
		defer interned.mu.Unlock()
		return len(interned.m)
	}
	deadline := time.Now().Add(10 * time.Second)
	for entries() > 100 && time.Now().Before(deadline) {
		runtime.GC() // cleanups run some time after it
		runtime.Gosched()
	}
	if n := entries(); n > 100 {
		t.Errorf("%d entries are left", n)
	}
	again, err := Intern(der)
	ok(t, err)
	if again != kept {
		t.Error("a certificate in use was forgotten")
	}
}

// TestParsedIsSmall: it lives as long as a channel does.
func TestParsedIsSmall(t *testing.T) {
	der := selfSigned(t)
	const n = 500
	keep := make([]*Parsed, n)
	whole := make([]*x509.Certificate, n)
	measure := func(fn func(i int)) int {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			fn(i)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int(after.HeapAlloc-before.HeapAlloc) / n
	}
	small := measure(func(i int) {
		p, err := parse(bytes.Clone(der))
		ok(t, err)
		keep[i] = p
	})
	large := measure(func(i int) { whole[i] = mustParse(t, bytes.Clone(der)) })
	t.Logf("%d bytes of DER: Parsed takes %d, the whole certificate %d", len(der), small, large)
	if small > len(der)+1536 {
		t.Errorf("Parsed takes %d bytes for %d of DER", small, len(der))
	}
	runtime.KeepAlive(keep)
	runtime.KeepAlive(whole)
}

func BenchmarkInternKnown(b *testing.B) {
	der := selfSigned(b)
	p, err := Intern(der)
	ok(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = Intern(der)
	}
	runtime.KeepAlive(p)
}

func BenchmarkValidateSelfSigned(b *testing.B) {
	s := memoryStore(b, nil)
	der := selfSigned(b)
	ok(b, s.Trust(der))
	b.ReportAllocs()
	for b.Loop() {
		ok(b, s.Validate(der, client))
	}
}

func BenchmarkValidateChain(b *testing.B) {
	s := memoryStore(b, nil)
	h := newHierarchy(b, nil, nil)
	ok(b, s.Trust(h.rootDER))
	ok(b, s.AddCRL(crl(b, h.root, rootKey(), time.Hour)))
	ok(b, s.AddCRL(crl(b, h.sub, subKey(), time.Hour)))
	blob := join(h.bySub(b), h.subDER)
	for b.Loop() {
		ok(b, s.Validate(blob, client))
	}
}
