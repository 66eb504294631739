package main

import (
	"errors"
	"fmt"
	"syscall"
)

// Each session of the demo's own is a connection with both ends in this process;
// other files are the listener, standard streams and what the runtime has.
const (
	filesPerSession = 2
	otherFiles      = 20
)

// enoughFiles says before anything is opened that the process may not have as
// many files as the sessions take: where they run out, the server waits for
// others to close, and so does the demo, forever.
func enoughFiles(sessions int) error {
	limit, known := fileLimit()
	need := uint64(sessions*filesPerSession + otherFiles)
	if sessions == 0 || !known || need <= limit {
		return nil
	}
	return fmt.Errorf("-sessions %d takes %d open files, and this process may have %d: raise the limit with \"ulimit -n %d\", or open at most %d sessions",
		sessions, need, limit, need, max(0, int(limit)-otherFiles)/filesPerSession)
}

// outOfFiles adds to an error what to do about it.
func outOfFiles(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("%w (raise the limit with \"ulimit -n\", or open fewer sessions)", err)
	}
	return err
}
