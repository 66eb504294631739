package ua

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// String returns the fields of a structure that is known, as Range{Low: 0,
// High: 100}, and the type of another. Long texts and arrays are cut. What may
// be secret is left out: identity tokens altogether, and fields that are called
// passwords, secrets, keys, tokens or nonces.
func (x ExtensionObject) String() string { return string(x.appendText(nil, 0)) }

func (x *ExtensionObject) appendText(b []byte, depth int) []byte {
	switch {
	case x.Value != nil:
		return appendStructureText(b, x.Value, depth)
	case x.IsNull():
		return append(b, "ExtensionObject(null)"...)
	}
	return fmt.Appendf(b, "ExtensionObject(%q, %d bytes)", clip(x.TypeID.String()), len(x.Raw))
}

func appendStructureText(b []byte, s Structure, depth int) []byte {
	if text, ok := s.(fmt.Stringer); ok {
		return appendQuoted(b, text.String())
	}
	r := reflect.Indirect(reflect.ValueOf(s))
	if r.Kind() != reflect.Struct || depth >= maxTextDepth || strings.HasSuffix(r.Type().Name(), "IdentityToken") {
		return fmt.Appendf(b, "ExtensionObject(%T)", s)
	}
	b = append(b, strings.TrimPrefix(r.Type().String(), "ua.")...)
	return appendFields(b, r, depth)
}

// appendFields appends the exported fields of a struct.
func appendFields(b []byte, r reflect.Value, depth int) []byte {
	b = append(b, '{')
	first := true
	for i := range r.NumField() {
		field := r.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if !first {
			b = append(b, ", "...)
		}
		first = false
		if len(b) > maxTextLength {
			b = append(b, "..."...)
			break
		}
		b = append(append(b, field.Name...), ": "...)
		if maySecret(field) {
			b = append(b, "***"...)
			continue
		}
		b = appendFieldText(b, r.Field(i), depth+1)
	}
	return append(b, '}')
}

// secretWords are parts of the names of fields that nobody should read in a log.
var secretWords = []string{"password", "passphrase", "secret", "credential", "key", "token", "nonce"}

// maySecret reports whether a field may hold what lets somebody in. A number or
// a Boolean does not.
func maySecret(field reflect.StructField) bool {
	switch field.Type.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Struct, reflect.Pointer, reflect.Interface:
	default:
		return false
	}
	name := strings.ToLower(field.Name)
	// The key of a KeyValuePair is a name.
	if field.Type == reflect.TypeFor[QualifiedName]() {
		return false
	}
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

func appendFieldText(b []byte, r reflect.Value, depth int) []byte {
	if depth >= maxTextDepth || len(b) > maxTextLength {
		return append(b, "..."...)
	}
	switch x := r.Interface().(type) {
	case Variant:
		return x.appendText(b, depth)
	case DataValue:
		return x.appendText(b, depth)
	case ExtensionObject:
		return x.appendText(b, depth)
	case LocalizedText:
		return appendQuoted(b, x.Text)
	case []byte:
		return bytesVariant(x).appendText(b, depth)
	case fmt.Stringer:
		if r.Kind() == reflect.Pointer && r.IsNil() {
			return append(b, "null"...)
		}
		if k := r.Kind(); k >= reflect.Int && k <= reflect.Float64 {
			return append(b, clip(x.String())...) // a time, a status or an enumeration
		}
		return appendQuoted(b, x.String())
	}
	switch r.Kind() {
	case reflect.String:
		return appendQuoted(b, r.String())
	case reflect.Slice, reflect.Array:
		return appendElements(b, r, depth)
	case reflect.Struct:
		return appendFields(b, r, depth)
	case reflect.Pointer, reflect.Interface:
		if r.IsNil() {
			return append(b, "null"...)
		}
		return appendFieldText(b, r.Elem(), depth+1)
	case reflect.Map, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return append(b, "..."...) // no part of the protocol
	}
	return fmt.Append(b, r.Interface())
}

func appendElements(b []byte, r reflect.Value, depth int) []byte {
	b = append(b, '[')
	for i := range min(r.Len(), maxTextElements) {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendFieldText(b, r.Index(i), depth+1)
	}
	if n := r.Len(); n > maxTextElements {
		b = append(b, " ... of "...)
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}
