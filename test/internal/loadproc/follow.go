//go:build linux

package loadproc

// Follower follows the numbers that one monitored item brings, which are written
// one after the other, each once. The zero value takes whatever comes first.
type Follower struct {
	Last    int64 // the newest number; 0: none yet
	Missing int64 // numbers that were skipped
	// Repeated counts a number that came twice in a row, and Disordered one that
	// came behind a higher one.
	Repeated, Disordered int64
}

// Take takes the next number, from 1 on.
func (f *Follower) Take(n int64) {
	switch {
	case f.Last == 0 || n == f.Last+1:
	case n == f.Last:
		f.Repeated++
		return
	case n < f.Last:
		f.Disordered++
		return
	default:
		f.Missing += n - f.Last - 1
	}
	f.Last = n
}

// End says which number was the last to be written.
func (f *Follower) End(n int64) {
	f.Missing += max(n-f.Last, 0)
	f.Last = max(f.Last, n)
}
