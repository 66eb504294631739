//go:build race

package fuzzguard

// Under the race detector pools drop what they are given, and objects are larger:
// what is allocated says nothing.
const countsMemory = false
