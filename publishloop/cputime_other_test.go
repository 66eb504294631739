//go:build !unix

package publishloop

import "time"

// processTime is not known here: the benchmark that asks reports 0.
func processTime() time.Duration { return 0 }
