package uasc

import "encoding/binary"

// Sealer owns the send state of a channel: the sequence number and the token in
// use. It is not safe for concurrent use; its owner is whoever writes. The zero
// value is ready for the first OPN of a policy that counts as RSA does; Begin
// makes it ready for any.
type Sealer struct {
	seq Sequence
	tok *Token
}

// Use makes tok the token of everything sealed from now on. A client uses a
// token as soon as the server has issued it; a server keeps the old one until
// the client has used the new one (Part 4, 5.6.2.1; see Message.TokenID).
func (s *Sealer) Use(tok *Token) { s.tok = tok }

// Token returns the token in use, nil before the first Use.
func (s *Sealer) Token() *Token { return s.tok }

// Begin sets how the channel's policy counts. It comes before anything is sealed.
func (s *Sealer) Begin(p *Policy) { s.seq.Strict = p.StrictSequence }

// NextSequence takes the next sequence number for an OPN, which is sealed
// elsewhere. Nothing may be sealed between this call and the sending of that
// OPN, since the receiver accepts no gap and no other order.
func (s *Sealer) NextSequence() uint32 { return s.seq.Next() }

// SealAll numbers, signs and encrypts, in place and in order, the frames that a
// Layout of the same channel laid into frames without gaps. It allocates
// nothing. Frames of other types than MSG and CLO are passed over. An error
// means that the frames are not such; nothing of them may be sent.
func (s *Sealer) SealAll(frames []byte) error {
	if s.tok == nil || !s.tok.Policy.Secure() {
		return s.sealAll(frames, nil)
	}
	engine := s.tok.Policy.mac.engine()
	err := s.sealAll(frames, engine)
	engine.release()
	return err
}

func (s *Sealer) sealAll(frames []byte, engine *macEngine) error {
	for len(frames) > 0 {
		if len(frames) < headerSize {
			return errFrames
		}
		size := binary.LittleEndian.Uint32(frames[4:])
		if size < headerSize || uint64(size) > uint64(len(frames)) {
			return errFrames
		}
		frame := frames[:size]
		frames = frames[size:]
		if t := typeOf(frame); t != TypeMessage && t != TypeClose {
			continue
		}
		if s.tok == nil {
			return errNoToken
		}
		if err := s.tok.seal(frame, s.seq.Next(), engine); err != nil {
			return err
		}
	}
	return nil
}

// seal fills in what the token and the order of sending decide, and secures one
// chunk.
func (t *Token) seal(frame []byte, seq uint32, engine *macEngine) error {
	signed := len(frame) - t.Policy.signature
	if signed < prefixSize || t.send.cbc != nil && (len(frame)-sequenceStart)%t.Policy.block != 0 {
		return errFrames
	}
	binary.LittleEndian.PutUint32(frame[headerSize+4:], t.ID)
	binary.LittleEndian.PutUint32(frame[sequenceStart:], seq)
	if t.Policy.signature == 0 {
		return nil
	}
	inner, outer := t.sendMAC()
	copy(frame[signed:], engine.compute(inner, outer, frame[:signed]))
	if t.send.cbc != nil {
		t.send.crypt(frame[sequenceStart:])
	}
	return nil
}
