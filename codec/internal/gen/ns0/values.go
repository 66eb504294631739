package main

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/ua"
)

// encodeValue turns the content of a Value element (Part 6, 5.3) into a
// binary-encoded Variant. It knows the kinds that namespace 0 uses and fails
// on others, so that a newer NodeSet cannot lose a value silently.
func encodeValue(value *model.Element) (string, error) {
	if len(value.Children) != 1 {
		return "", fmt.Errorf("a value holds %d elements, not 1", len(value.Children))
	}
	v, err := parseValue(value.Children[0])
	if err != nil {
		return "", err
	}
	return encodeVariant(v)
}

func encodeVariant(value any) (string, error) {
	v, err := ua.ValueOf(value)
	if err != nil {
		return "", err
	}
	return string(v.AppendTo(nil)), nil
}

func parseValue(e *model.Element) (any, error) {
	name, list := strings.CutPrefix(e.XMLName.Local, "ListOf")
	switch name {
	case "Boolean":
		return parse(e, list, func(e *model.Element) (bool, error) { return strconv.ParseBool(text(e)) })
	case "SByte":
		return parse(e, list, integer[int8])
	case "Byte":
		return parse(e, list, unsigned[uint8])
	case "Int16":
		return parse(e, list, integer[int16])
	case "UInt16":
		return parse(e, list, unsigned[uint16])
	case "Int32":
		return parse(e, list, integer[int32])
	case "UInt32":
		return parse(e, list, unsigned[uint32])
	case "Int64":
		return parse(e, list, integer[int64])
	case "UInt64":
		return parse(e, list, unsigned[uint64])
	case "Double":
		return parse(e, list, func(e *model.Element) (float64, error) { return strconv.ParseFloat(text(e), 64) })
	case "String":
		return parse(e, list, func(e *model.Element) (string, error) { return e.Text, nil })
	case "DateTime":
		return parse(e, list, func(e *model.Element) (ua.DateTime, error) {
			t, err := time.Parse(time.RFC3339Nano, text(e))
			return ua.DateTimeOf(t), err
		})
	case "ByteString":
		return parse(e, list, func(e *model.Element) ([]byte, error) {
			return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(e.Text), ""))
		})
	case "LocalizedText":
		return parse(e, list, func(e *model.Element) (ua.LocalizedText, error) { return localized(e), nil })
	case "ExtensionObject":
		return parse(e, list, extensionObject)
	}
	return nil, fmt.Errorf("no rule for values of kind %s", e.XMLName.Local)
}

// parse applies a rule to an element or to each of its children.
func parse[T any](e *model.Element, list bool, rule func(*model.Element) (T, error)) (any, error) {
	if !list {
		return rule(e)
	}
	out := make([]T, 0, len(e.Children))
	for _, c := range e.Children {
		v, err := rule(c)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func text(e *model.Element) string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(e.Text)
}

func integer[T int8 | int16 | int32 | int64](e *model.Element) (T, error) {
	v, err := strconv.ParseInt(text(e), 10, 64)
	if err == nil && int64(T(v)) != v {
		err = fmt.Errorf("%d is out of range", v)
	}
	return T(v), err
}

func unsigned[T uint8 | uint16 | uint32 | uint64](e *model.Element) (T, error) {
	v, err := strconv.ParseUint(text(e), 10, 64)
	if err == nil && uint64(T(v)) != v {
		err = fmt.Errorf("%d is out of range", v)
	}
	return T(v), err
}

func localized(e *model.Element) ua.LocalizedText {
	if e == nil {
		return ua.LocalizedText{}
	}
	return ua.LocalizedText{Locale: text(e.Child("Locale")), Text: text(e.Child("Text"))}
}

// extensionObject reads the three structures that occur as values in
// namespace 0. Descriptions of arguments and of enumeration values are prose
// and left out; that of an engineering unit is its name and stays.
func extensionObject(e *model.Element) (ua.ExtensionObject, error) {
	body := e.Child("Body")
	if body == nil || len(body.Children) != 1 {
		return ua.ExtensionObject{}, fmt.Errorf("an extension object has no single body")
	}
	switch b := body.Children[0]; b.XMLName.Local {
	case "Argument":
		return argument(b)
	case "EnumValueType":
		value, err := integer[int64](b.Child("Value"))
		return ua.ObjectOf(&ua.EnumValueType{Value: value, DisplayName: localized(b.Child("DisplayName"))}), err
	case "EUInformation":
		unit, err := integer[int32](b.Child("UnitId"))
		return ua.ObjectOf(&ua.EUInformation{
			NamespaceURI: text(b.Child("NamespaceUri")), UnitID: unit,
			DisplayName: localized(b.Child("DisplayName")), Description: localized(b.Child("Description")),
		}), err
	default:
		return ua.ExtensionObject{}, fmt.Errorf("no rule for structures of type %s", b.XMLName.Local)
	}
}

func argument(b *model.Element) (ua.ExtensionObject, error) {
	a := &ua.Argument{Name: text(b.Child("Name")), ValueRank: scalar}
	if dataType := b.Child("DataType"); dataType != nil {
		id, err := ua.ParseNodeID(text(dataType.Child("Identifier")))
		if err != nil {
			return ua.ExtensionObject{}, err
		}
		a.DataType = id
	}
	if rank := b.Child("ValueRank"); rank != nil {
		v, err := integer[int32](rank)
		if err != nil {
			return ua.ExtensionObject{}, err
		}
		a.ValueRank = v
	}
	if dims := b.Child("ArrayDimensions"); dims != nil {
		for _, d := range dims.Children {
			v, err := unsigned[uint32](d)
			if err != nil {
				return ua.ExtensionObject{}, err
			}
			a.ArrayDimensions = append(a.ArrayDimensions, v)
		}
	}
	return ua.ObjectOf(a), nil
}
