package ua

import (
	"reflect"
	"testing"

	"github.com/uahive/uahive/codec"
)

// The minimal element size that a generated decoder hands to ArrayLen must not
// exceed what an element really takes, or valid messages would be refused: an
// array of the smallest elements is read back, for every array of every
// structure of the standard.
func TestMinimalElementSizes(t *testing.T) {
	arrays := 0
	for id := range uint32(1 << 16) {
		s := newGenerated(id)
		if s == nil {
			continue
		}
		for i := range reflect.TypeOf(s).Elem().NumField() {
			s := newGenerated(id)
			field := reflect.ValueOf(s).Elem().Field(i)
			if field.Kind() != reflect.Slice || field.Type() == byteSliceType {
				continue
			}
			const n = 2000
			field.Set(reflect.MakeSlice(field.Type(), n, n))
			raw := s.AppendTo(nil)
			if len(raw) < n {
				continue // a field that is switched off in the zero value
			}
			arrays++
			got := newGenerated(id)
			d := codec.NewDecoder(raw, nil)
			got.DecodeFrom(d)
			if d.Finish() != nil || reflect.ValueOf(got).Elem().Field(i).Len() != n {
				t.Errorf("%T.%s: %v", s, reflect.TypeOf(s).Elem().Field(i).Name, d.Err())
			}
			if size := field.Type().Elem().Size(); int(size)*n > 64*len(raw) {
				t.Errorf("%T.%s: %d bytes in memory for %d", s, reflect.TypeOf(s).Elem().Field(i).Name, int(size)*n, len(raw))
			}
		}
	}
	if arrays < 100 {
		t.Errorf("only %d arrays were tried", arrays)
	}
}
