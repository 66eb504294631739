package ua

import (
	"strconv"
	"strings"

	"github.com/uahive/uahive/codec"
)

// XMLElement is an XML fragment. It is encoded like a String and kept as
// text; the type is deprecated (Part 6, 5.2.2.8) and nothing here parses it.
type XMLElement string

// QualifiedName is a name with the index of its namespace.
type QualifiedName struct {
	NamespaceIndex uint16
	Name           string
}

// AppendTo appends the encoding.
func (q QualifiedName) AppendTo(dst []byte) []byte {
	return codec.AppendString(codec.AppendUint16(dst, q.NamespaceIndex), q.Name)
}

// DecodeFrom reads a QualifiedName.
func (q *QualifiedName) DecodeFrom(d *codec.Decoder) {
	q.NamespaceIndex = d.Uint16()
	q.Name = d.String()
}

// IsNull reports whether the name is empty in namespace 0.
func (q QualifiedName) IsNull() bool { return q == QualifiedName{} }

// Clone returns a copy that does not share memory.
func (q QualifiedName) Clone() QualifiedName {
	q.Name = strings.Clone(q.Name)
	return q
}

// String returns the form "2:Name", without the index in namespace 0 (Part 6,
// 5.1.12).
func (q QualifiedName) String() string {
	if q.NamespaceIndex == 0 {
		return q.Name
	}
	return strconv.Itoa(int(q.NamespaceIndex)) + ":" + q.Name
}

// LocalizedText is a text for people with the locale that it is written in.
type LocalizedText struct {
	Locale string
	Text   string
}

// The bits of a LocalizedText's mask (Part 6, 5.2.2.14).
const (
	localizedLocale = 0x01
	localizedText   = 0x02
)

// AppendTo appends the encoding; empty parts are omitted.
func (t LocalizedText) AppendTo(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, 0)
	if t.Locale != "" {
		dst[at] |= localizedLocale
		dst = codec.AppendStringValue(dst, t.Locale)
	}
	if t.Text != "" {
		dst[at] |= localizedText
		dst = codec.AppendStringValue(dst, t.Text)
	}
	return dst
}

// DecodeFrom reads a LocalizedText.
func (t *LocalizedText) DecodeFrom(d *codec.Decoder) {
	*t = LocalizedText{}
	mask := d.Uint8()
	if mask&^(localizedLocale|localizedText) != 0 {
		d.Fail(codec.ErrDecoding)
		return
	}
	if mask&localizedLocale != 0 {
		t.Locale = d.String()
	}
	if mask&localizedText != 0 {
		t.Text = d.String()
	}
}

// IsNull reports whether there is neither a locale nor a text.
func (t LocalizedText) IsNull() bool { return t == LocalizedText{} }

// Clone returns a copy that does not share memory.
func (t LocalizedText) Clone() LocalizedText {
	return LocalizedText{Locale: strings.Clone(t.Locale), Text: strings.Clone(t.Text)}
}

// String returns the text alone.
func (t LocalizedText) String() string { return t.Text }

// Text returns a LocalizedText without a locale.
func Text(s string) LocalizedText { return LocalizedText{Text: s} }
