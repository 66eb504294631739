package uasc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"
	"time"
)

// messageSizes are the bodies of a small answer, of 100 values, of a full chunk
// and of an HD frame.
var messageSizes = []int{128, 2900, 65_000, 3_686_400}

var encrypting = []suite{
	{Basic256Sha256, ModeSignAndEncrypt}, {Aes128Sha256RsaOaep, ModeSignAndEncrypt}, {Aes256Sha256RsaPss, ModeSignAndEncrypt},
}

// BenchmarkFloor is the standard library's own AES-CBC and HMAC-SHA256 of the
// same bytes in chunks of the same size, with states that are used again: what
// sealing and opening cannot be below.
func BenchmarkFloor(b *testing.B) {
	for _, bits := range []int{128, 256} {
		block, err := aes.NewCipher(make([]byte, bits/8))
		if err != nil {
			b.Fatal(err)
		}
		iv := make([]byte, aes.BlockSize)
		for name, mode := range map[string]cipher.BlockMode{"encrypt": cipher.NewCBCEncrypter(block, iv), "decrypt": cipher.NewCBCDecrypter(block, iv)} {
			for _, n := range messageSizes {
				b.Run(fmt.Sprintf("AES-%d/%s/%d", bits, name, n), func(b *testing.B) {
					mac, sum, buf := hmac.New(sha256.New, make([]byte, 32)), make([]byte, 0, 32), pattern(min((n+63)/16*16, 65_520))
					b.ReportAllocs()
					b.SetBytes(int64(n))
					for b.Loop() {
						for left := n; left > 0; left -= 65_000 {
							chunk := buf[:min((left+63)/16*16, len(buf))]
							mac.Reset()
							mac.Write(chunk)
							sum = mac.Sum(sum[:0])
							mode.(blockMode).SetIV(iv)
							mode.CryptBlocks(chunk, chunk)
						}
					}
				})
			}
		}
	}
}

// BenchmarkStream lays out and seals a message in windows of a quarter of a MiB,
// as large answers are.
func BenchmarkStream(b *testing.B) {
	for _, s := range append([]suite{{PolicyNone, ModeNone}}, encrypting...) {
		for _, n := range messageSizes {
			b.Run(fmt.Sprintf("%v/%d", s, n), func(b *testing.B) {
				l := s.link(b, Limits{}, nil)
				body, window, list := pattern(n), make([]byte, 0, 256<<10), make([][]byte, 1)
				headers, vector := make([]byte, 0, 64*HeaderSize), make([][]byte, 0, 130)
				b.ReportAllocs()
				b.SetBytes(int64(n))
				for b.Loop() {
					list[0] = body
					var stream Stream
					if err := stream.Start(l.layout, 1, list); err != nil {
						b.Fatal(err)
					}
					for stream.Left() > 0 {
						var err error
						if l.layout.Plain() {
							filled, _ := stream.Gather(headers, vector)
							err = l.sealer.NumberAll(filled)
						} else {
							err = l.sealer.SealAll(stream.Frames(window))
						}
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// BenchmarkOpenMessage opens and puts together whole messages.
func BenchmarkOpenMessage(b *testing.B) {
	for _, s := range append([]suite{{PolicyNone, ModeNone}}, encrypting...) {
		for _, n := range messageSizes {
			b.Run(fmt.Sprintf("%v/%d", s, n), func(b *testing.B) {
				l := s.link(b, Limits{}, nil)
				sealed := l.seal(b, 1, pattern(n))
				frames, now := make([]byte, len(sealed)), time.Now()
				b.ReportAllocs()
				b.SetBytes(int64(n))
				for b.Loop() {
					copy(frames, sealed)
					l.opener.seq = Sequence{}
					for rest := frames; len(rest) > 0; {
						size := binary.LittleEndian.Uint32(rest[4:])
						if _, err := l.opener.OpenAt(rest[:size], now); err != nil {
							b.Fatal(err)
						}
						rest = rest[size:]
					}
					l.opener.Recycle()
				}
			})
		}
	}
}
