//go:build !race

package hotpath

// raceEnabled says whether allocations cannot be counted; see race_test.go.
const raceEnabled = false
