package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// cryptography measures AES-256-CBC with HMAC-SHA256 of the standard library, the two of Basic256Sha256, on chunks in
// place, with states that are used again: nothing that takes this policy can spend less.
func cryptography(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("echo crypto", flag.ContinueOnError)
	size := flags.Int("size", 128, "bytes of a message")
	chunk := flags.Int("chunk", 65_520, "largest chunk that is signed and encrypted at once")
	duration := flags.Duration("duration", time.Second, "how long to measure each of sealing and opening")
	asJSON := flags.Bool("json", false, "print the result as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *size < aes.BlockSize || *chunk < aes.BlockSize {
		return fmt.Errorf("-size and -chunk must be at least %d", aes.BlockSize)
	}
	*size, *chunk = *size/aes.BlockSize*aes.BlockSize, *chunk/aes.BlockSize*aes.BlockSize
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		return err
	}
	iv := make([]byte, aes.BlockSize)
	mac := hmac.New(sha256.New, make([]byte, 32))
	message := make([]byte, *size)
	signature := make([]byte, 0, sha256.Size)
	sign := func(b []byte) {
		mac.Reset()
		mac.Write(b)
		signature = mac.Sum(signature[:0])
	}
	encrypter, decrypter := cipher.NewCBCEncrypter(block, iv), cipher.NewCBCDecrypter(block, iv)
	seal := func(b []byte) {
		sign(b)
		encrypter.CryptBlocks(b, b)
	}
	open := func(b []byte) {
		decrypter.CryptBlocks(b, b)
		sign(b)
	}
	each := func(do func([]byte)) func() {
		return func() {
			for rest := message; len(rest) > 0; {
				n := min(*chunk, len(rest))
				do(rest[:n])
				rest = rest[n:]
			}
		}
	}
	sealing, err := timed(*duration, each(seal))
	if err != nil {
		return err
	}
	opening, err := timed(*duration, each(open))
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{
			"size_bytes": *size, "chunk_bytes": *chunk, "seal_us": sealing, "open_us": opening,
		})
	}
	fmt.Printf("%d bytes: seal %.3f us, open %.3f us\n", *size, sealing, opening)
	return nil
}

// timed returns the CPU microseconds that do takes.
func timed(d time.Duration, do func()) (float64, error) {
	do()
	start, before, rounds := time.Now(), time.Duration(0), 0
	before, err := cpuTime(os.Getpid())
	if err != nil {
		return 0, err
	}
	for rounds == 0 || time.Since(start) < d {
		for range 8 { // the clock costs as much as a short message
			do()
			rounds++
		}
	}
	after, err := cpuTime(os.Getpid())
	if err == nil && after <= before {
		err = errors.New("the clock of this process stands still")
	}
	return float64((after - before).Nanoseconds()) / 1e3 / float64(rounds), err
}
