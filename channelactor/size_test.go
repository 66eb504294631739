package channelactor

import (
	"testing"
	"unsafe"
)

// Go allocates a Channel of more than 512 bytes as 576, ten thousand times.
func TestChannelFitsItsSizeClass(t *testing.T) {
	if size := unsafe.Sizeof(Channel{}); size > 512 {
		t.Errorf("a Channel has %d bytes, which is more than 512", size)
	}
}
