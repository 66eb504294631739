//go:build race

package client

// raceDetector says that sync.Pool drops objects at random, so that counts of
// allocations mean nothing.
const raceDetector = true
