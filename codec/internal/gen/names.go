package main

import (
	"strings"
	"unicode"
)

// initialisms are the only words whose case changes between the standard's
// names and Go's.
var initialisms = []struct{ from, to string }{
	{"Ids", "IDs"}, {"Id", "ID"}, {"Uris", "URIs"}, {"Uri", "URI"}, {"Urls", "URLs"}, {"Url", "URL"},
}

// goName turns a name of the standard into an exported Go name: NodesToRead
// stays, ServerUri becomes ServerURI. A word is replaced where it ends: before
// an upper-case letter, a digit or the end, so that Identity is left alone.
func goName(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); {
		matched := false
		for _, w := range initialisms {
			if strings.HasPrefix(name[i:], w.from) && endsWord(name[i+len(w.from):]) {
				out.WriteString(w.to)
				i += len(w.from)
				matched = true
				break
			}
		}
		if !matched {
			out.WriteByte(name[i])
			i++
		}
	}
	s := out.String()
	if s != "" && !unicode.IsUpper(rune(s[0])) {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

func endsWord(rest string) bool {
	return rest == "" || !unicode.IsLower(rune(rest[0]))
}
