package attack

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// serverPKI is the folder of the certificate that all servers of this package
// share, so that no test has to make a key.
var serverPKI string

// long asks for attacks of real size, which take minutes.
var long = flag.Bool("attack.long", false, "attack with real numbers")

// scale returns how often to do something.
func scale(usual, real int) int {
	if *long {
		return real
	}
	return usual
}

func TestMain(m *testing.M) {
	codec.CheckBuffers(true)
	rawpeer.Inspect = inspect
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		panic(err)
	}
	serverPKI = dir
	// The goroutines that exist before any test are those of the default pool
	// that ants makes.
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent(), goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// fuzzing stands for the testing.F of a fuzz target in what outlives one input:
// its own methods may not be called from within.
type fuzzing struct{ testing.TB }

func (fuzzing) Helper()                   {}
func (fuzzing) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (fuzzing) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (fuzzing) Error(args ...any)         { panic(fmt.Sprint(args...)) }
func (fuzzing) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (fuzzing) Cleanup(func())            {}
