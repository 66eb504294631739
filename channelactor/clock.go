package channelactor

import "time"

// clockBytes is how many bytes of requests and answers may pass between two
// looks at the clock. They are some microseconds of work; a look costs about as
// much as a tenth of a Read.
const clockBytes = 4 << 10

// clock is the time of a batch, read once for several small requests.
type clock struct {
	now   time.Time
	first time.Time // of the batch
	left  int       // bytes until the clock is read again
	stale bool      // something may have taken long
}

// look reads the clock when it is time to.
func (k *clock) look() {
	if !k.stale {
		return
	}
	k.now, k.left, k.stale = time.Now(), clockBytes, false
	if k.first.IsZero() {
		k.first = k.now
	}
}

// pass counts the bytes of one request, and those by which the batch has grown.
// A batch that shrank was sent, which takes longer than any small request.
func (k *clock) pass(request, answer int) {
	k.left -= request + answer
	k.stale = k.stale || k.left <= 0 || answer < 0
}

// Now returns the time at which the request that is being served was taken up.
// Requests that came together may share it, as long as they and their answers
// are small. It has a monotonic reading.
func (b *Batch) Now() time.Time { return b.clock.now }

// Arrived returns the time at which the read came back that brought the batch's
// requests in, or the last chunks of them. It has a monotonic reading.
func (b *Batch) Arrived() time.Time { return b.clock.first }
