package channelactor

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"unique"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// stage is how far a connection has come.
type stage uint8

const (
	stageHello stage = iota // waits for Hello
	stageOpen               // waits for OpenSecureChannel
	stageLive               // serves requests
)

// headerSize is the part of every chunk that says how long it is (Part 6, 7.1.2.2).
const headerSize = 8

// read is the channel's reader. It ends when the connection does, when a
// deadline is missed, or when the peer breaks the protocol, and ends the
// channel with it.
func (c *Channel) read() {
	defer c.finish()
	defer c.survive()
	c.enterStage(c.server.limits.HelloTimeout)
	for {
		if !c.awaitDrain() || !c.awaitCredit() {
			return
		}
		if err := c.sock.fill(); err != nil {
			if c.ended() {
				return
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				if reason, over := c.overdue(); over {
					c.close(reason)
					return
				}
				if c.outlived() {
					c.followToken(c.opener.Newest())
				}
				c.setDeadline()
				continue
			}
			switch {
			case errors.Is(err, io.EOF):
				c.close(CloseReason{Code: reasonPeer})
			case errors.Is(err, errInputBudget):
				c.close(CloseReason{Code: reasonMemory, Status: ua.BadTcpNotEnoughResources, Err: err})
			default:
				c.close(CloseReason{Code: reasonPeer, Err: err})
			}
			return
		}
		if !c.handlePending() {
			return
		}
		if c.opener != nil {
			if memory := c.opener.Ahead(); memory != nil {
				c.sock.place(memory)
			}
		}
	}
}

// survive turns a panic into the end of this one channel. What runs on a
// reader's goroutine is fed by a stranger; a bug that one of them finds must not
// end the process for all others. It is a bug all the same, and logged as such.
func (c *Channel) survive() {
	p := recover()
	if p == nil {
		return
	}
	c.server.stats.panics.Add(1)
	c.server.log.Error().Str("peer", c.remote).Uint32("channel", c.id).Interface("panic", p).
		Bytes("stack", debug.Stack()).Msg("panic while serving a channel")
	c.close(CloseReason{Code: reasonPanic, Status: ua.BadInternalError})
}

// finish ends what the reader owns and tells the service.
func (c *Channel) finish() {
	c.close(CloseReason{Code: reasonPeer})
	c.sock.releaseInput()
	if c.opener != nil {
		c.opener.Release()
	}
	c.server.admission.leave(c)
	if c.opened.Load() {
		c.server.config.Service.Closed(c)
	}
	if c.alone {
		c.farewell()
	}
	c.logEnd()
	c.server.config.Hooks.ended(c)
}

// handlePending handles the whole chunks that have arrived and sends the
// answers of all of them together. It reports whether to go on.
func (c *Channel) handlePending() bool {
	var batch *Batch
	goOn := true
	start := c.sock.consumed
	c.sock.want = 0
	for goOn && !c.ended() {
		buf := c.sock.pending()
		if len(buf) < headerSize {
			break
		}
		header, err := uasc.ParseHeader(buf, c.maxChunk())
		if err != nil {
			c.fail(err)
			goOn = false
			break
		}
		if !c.expects(header) {
			c.fail(ua.BadTcpMessageTypeInvalid)
			goOn = false
			break
		}
		size := int(header.Size)
		if len(buf) < size {
			c.sock.want = size
			break
		}
		c.sock.consume(size)
		if c.stage == stageLive && batch == nil {
			batch = takeBatch(c)
		}
		goOn = c.handleChunk(header, buf[:size:size], batch)
		if batch != nil && (batch.Len() >= flushAt || !c.hasCredit()) {
			batch.Flush()
			goOn = goOn && c.awaitDrain() && c.awaitCredit()
			batch.clock.stale = true
		}
	}
	// Counters are shared by all readers: they are touched once for what came together.
	c.server.stats.bytesIn.Add(uint64(c.sock.consumed - start))
	if batch != nil {
		c.server.stats.requests.Add(batch.requests)
		batch.Flush()
		batch.release()
	}
	return goOn && !c.ended()
}

func (c *Channel) maxChunk() uint32 {
	if c.stage == stageHello {
		return uasc.MaxHelloLength
	}
	return c.limits.ReceiveBuffer
}

// expects reports whether a chunk of this type may come now. It is asked before
// the rest of the chunk is there, so that port scanners and browsers are not
// waited for.
func (c *Channel) expects(header uasc.Header) bool {
	switch c.stage {
	case stageHello:
		return header.Type == uasc.TypeHello && header.Chunk == uasc.ChunkFinal
	case stageOpen:
		return header.Type == uasc.TypeOpen
	}
	return header.Type == uasc.TypeOpen || header.Type == uasc.TypeMessage || header.Type == uasc.TypeClose
}

func (c *Channel) handleChunk(header uasc.Header, chunk []byte, batch *Batch) bool {
	switch {
	case c.stage == stageHello:
		return c.hello(chunk)
	case header.Type == uasc.TypeOpen:
		if batch != nil {
			batch.clock.stale = true
		}
		return c.open(chunk)
	}
	return c.message(header, chunk, batch)
}

// message opens a symmetric chunk and serves the request that it completes.
func (c *Channel) message(header uasc.Header, chunk []byte, batch *Batch) bool {
	c.opener.LimitMessage(c.maxMessage())
	batch.clock.look()
	m, err := c.opener.OpenAt(chunk, batch.clock.now)
	if err != nil {
		c.fail(err)
		return false
	}
	if token := c.opener.Token(); token != c.inUse && !token.Created.Before(c.inUse.Created) {
		c.followToken(token)
	}
	if !m.Done {
		return true
	}
	if header.Type == uasc.TypeClose {
		c.auditClose(m.Body)
		c.close(CloseReason{Code: reasonClosed})
		return false
	}
	batch.requests++
	request := Request{ID: m.RequestID, Body: m.Body, Owned: m.Owned}
	if len(m.Body) > largeRequest {
		return c.serveLarge(batch, request)
	}
	before := batch.Len()
	c.server.config.Service.Serve(batch, request)
	batch.clock.pass(len(chunk), batch.Len()-before)
	c.opener.Recycle()
	return true
}

// maxMessage is the largest request that is taken now.
func (c *Channel) maxMessage() uint32 {
	if c.sessions.Load() == 0 {
		return c.server.limits.UnprovenMessage
	}
	return c.limits.MaxMessage
}

// largeRequest is the size in bytes from which requests are served only a few at
// a time.
const largeRequest = 64 << 10

// serveLarge serves a request whose decoded form may be many times its size, and
// holds back others of the kind meanwhile: memory is bounded by what runs and not
// by the number of peers. Serving does not wait for anything.
func (c *Channel) serveLarge(batch *Batch, request Request) bool {
	select {
	case c.server.large <- struct{}{}:
	case <-c.Done():
		return false
	}
	defer func() { <-c.server.large }()
	batch.clock.stale = true
	batch.clock.look()
	c.server.config.Service.Serve(batch, request)
	batch.clock.stale = true
	c.opener.Recycle()
	return true
}

// followToken seals with the renewed token from now on, since the client has
// used it, or the one before has ended and the client, which sends nothing, would
// take it for no longer than its tolerance (Part 4, 5.6.2.1).
func (c *Channel) followToken(token *uasc.Token) {
	c.sendMu.Lock()
	c.sealer.Use(token)
	c.sendMu.Unlock()
	c.use(token)
}

// fail ends the channel for something that the peer sent.
func (c *Channel) fail(err error) {
	code := ua.StatusOf(err)
	reason := reasonProtocol
	if code == ua.BadSecurityChecksFailed {
		reason = reasonSecurity
	}
	c.close(CloseReason{Code: reason, Status: code, Err: err})
}

// hello answers a Hello message with what both ends can do (Part 6, 7.1.2.3).
func (c *Channel) hello(chunk []byte) bool {
	var hello uasc.Hello
	if err := hello.Decode(chunk); err != nil {
		c.fail(err)
		return false
	}
	l := &c.server.limits
	ack, limits, err := uasc.Negotiate(uasc.Limits{
		ReceiveBuffer: l.ReceiveBuffer, SendBuffer: l.SendBuffer, MaxMessage: l.MaxMessage, MaxChunks: l.MaxChunks,
		MaxSendMessage: l.MaxMessage, MaxSendChunks: l.MaxChunks,
	}, hello)
	if err != nil {
		c.fail(err)
		return false
	}
	c.limits = limits
	c.endpointURL = unique.Make(hello.EndpointURL) // clients use the same few addresses
	c.stage = stageOpen
	c.enterStage(l.OpenTimeout)
	return c.sendRaw(ack.AppendTo(nil))
}

// sendRaw writes a frame that needs no seal. The reader blocks meanwhile.
func (c *Channel) sendRaw(frame []byte) bool {
	c.sendMu.Lock()
	err := c.flushLocked()
	if err == nil {
		err = c.write(frame)
	}
	c.sendMu.Unlock()
	if err != nil {
		c.close(CloseReason{Code: reasonWrite, Err: err})
	}
	return err == nil
}
