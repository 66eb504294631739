package events

import "unicode/utf8"

// pattern is the second operand of Like (Part 4, Table 120 of its wildcards).
type pattern struct {
	tokens []token
}

// token matches one character, or any number of them.
type token struct {
	kind tokenKind
	char rune
	set  []runeRange
}

type tokenKind uint8

const (
	oneChar tokenKind = iota
	anyChar
	anyText
	inSet
	notInSet
)

type runeRange struct{ low, high rune }

const (
	// maxTokens is the length of the longest pattern.
	maxTokens = 1_000
	// maxLikeSteps bounds the work of one Like: a text with which it takes more does
	// not match.
	maxLikeSteps = 1 << 20
)

// parsePattern parses a pattern. ok is false when it is too long, or when a list or an
// escape has no end.
func parsePattern(s string) (p *pattern, ok bool) {
	p = new(pattern)
	chars := []rune(nil)
	if len(s) > 4*maxTokens {
		return nil, false
	}
	chars = []rune(s)
	for i := 0; i < len(chars); i++ {
		t := token{char: chars[i]}
		switch chars[i] {
		case '%':
			t.kind = anyText
			if n := len(p.tokens); n > 0 && p.tokens[n-1].kind == anyText {
				continue
			}
		case '_':
			t.kind = anyChar
		case '\\':
			if i++; i == len(chars) {
				return nil, false
			}
			t.char = chars[i]
		case '[':
			var n int
			if t, n = parseSet(chars[i+1:]); n == 0 {
				return nil, false
			}
			i += n
		}
		if len(p.tokens) == maxTokens {
			return nil, false
		}
		p.tokens = append(p.tokens, t)
	}
	return p, true
}

// parseSet parses a list of characters and ranges behind its opening bracket, and
// returns how many characters it took; 0 when the list has no end.
func parseSet(chars []rune) (t token, n int) {
	t.kind = inSet
	i := 0
	if i < len(chars) && chars[i] == '^' {
		t.kind = notInSet
		i++
	}
	next := func() (r rune, ok bool) {
		if i < len(chars) && chars[i] == '\\' {
			i++
		}
		if i == len(chars) {
			return 0, false
		}
		i++
		return chars[i-1], true
	}
	for i < len(chars) && chars[i] != ']' {
		low, ok := next()
		if !ok {
			return t, 0
		}
		high := low
		if i+1 < len(chars) && chars[i] == '-' && chars[i+1] != ']' {
			i++
			if high, ok = next(); !ok {
				return t, 0
			}
		}
		t.set = append(t.set, runeRange{low, high})
	}
	if i == len(chars) {
		return t, 0
	}
	return t, i + 1
}

func (t *token) matches(r rune) bool {
	switch t.kind {
	case oneChar:
		return r == t.char
	case anyChar:
		return true
	}
	for _, x := range t.set {
		if x.low <= r && r <= x.high {
			return t.kind == inSet
		}
	}
	return t.kind == notInSet
}

// matches reports whether the whole text fits the pattern. Where a part of the
// pattern does not fit, only the last "%" is tried again one character further on:
// what stands before it fits in the leftmost place, and no other place could do
// better. So the work grows with text times pattern at most.
func (p *pattern) matches(text string) bool {
	at, next := 0, 0 // in text and tokens
	star, resume := -1, 0
	for steps := 0; ; steps++ {
		if steps > maxLikeSteps {
			return false
		}
		if next < len(p.tokens) && p.tokens[next].kind == anyText {
			star, resume = next, at
			next++
			continue
		}
		if at == len(text) {
			return next == len(p.tokens)
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		if next < len(p.tokens) && p.tokens[next].matches(r) {
			at += size
			next++
			continue
		}
		if star < 0 {
			return false
		}
		_, size = utf8.DecodeRuneInString(text[resume:])
		resume += size
		at, next = resume, star+1
	}
}
