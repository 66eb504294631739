package client

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/uahive/uahive/codec"
)

func TestMain(m *testing.M) {
	codec.CheckBuffers(true)
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // ants keeps two goroutines of its own
}
