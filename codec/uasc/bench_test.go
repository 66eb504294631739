package uasc

import (
	"fmt"
	"testing"
	"time"
	"unsafe"
)

func BenchmarkSeal(b *testing.B) {
	for _, s := range suites {
		for _, n := range []int{128, 4096, 60000} {
			b.Run(fmt.Sprintf("%v/%d", s, n), func(b *testing.B) {
				l := s.link(b, Limits{}, nil)
				body := pattern(n)
				buf := make([]byte, 0, 1<<17)
				b.ReportAllocs()
				b.SetBytes(int64(n))
				for b.Loop() {
					dst, mark := l.layout.Begin(buf[:0])
					dst, err := l.layout.End(append(dst, body...), mark, TypeMessage, 1)
					if err != nil {
						b.Fatal(err)
					}
					if err := l.sealer.SealAll(dst); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, s := range suites {
		for _, n := range []int{128, 4096, 60000} {
			b.Run(fmt.Sprintf("%v/%d", s, n), func(b *testing.B) {
				l := s.link(b, Limits{}, nil)
				sealed := l.seal(b, 1, pattern(n))
				chunk := make([]byte, len(sealed))
				now := time.Now()
				b.ReportAllocs()
				b.SetBytes(int64(n))
				for b.Loop() {
					copy(chunk, sealed)
					l.opener.seq = Sequence{}
					if _, err := l.opener.OpenAt(chunk, now); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkNewToken(b *testing.B) {
	s := suite{Basic256Sha256, ModeSignAndEncrypt}
	c := TokenConfig{Policy: s.policy, Mode: s.mode, ID: 1, Local: s.policy.NewShare(), RemoteNonce: s.policy.NewShare().Nonce}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewToken(c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(unsafe.Sizeof(Token{})), "struct-B")
}

func BenchmarkOpenSecureChannel(b *testing.B) {
	for _, p := range securePolicies {
		o := opn{p: p, from: app(b, "a", 2048), to: app(b, "b", 2048)}
		frame := o.seal(b, pattern(132))
		b.Run(p.Name+"/seal", func(b *testing.B) {
			for b.Loop() {
				o.seal(b, pattern(132))
			}
		})
		b.Run(p.Name+"/open", func(b *testing.B) {
			for b.Loop() {
				if _, _, _, err := o.open(frame); err != nil {
					b.Fatal(err)
				}
			}
		})
		garbage := append([]byte(nil), frame...)
		copy(garbage[len(garbage)-256:], pattern(256))
		b.Run(p.Name+"/garbage", func(b *testing.B) {
			for b.Loop() {
				if _, _, _, err := o.open(garbage); err == nil {
					b.Fatal("opened")
				}
			}
		})
	}
}
