//go:build !race

package attack

// raceEnabled says whether allocations cannot be counted; see race_test.go.
const raceEnabled = false
