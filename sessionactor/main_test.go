package sessionactor

import (
	"testing"

	"go.uber.org/goleak"
)

// The goroutines that exist before any test are those of the default pool that ants makes.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }
