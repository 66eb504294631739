//go:build !race

package fuzzguard

const countsMemory = true
