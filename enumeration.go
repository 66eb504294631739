package uahive

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// AddEnumeration makes an enumeration of a Go type: the values 0, 1, 2, ... have
// these names. [AddEnumerationMap] is for other values.
//
//	type Mode int
//
//	uahive.AddEnumeration[Mode](ns, "Mode", "Manual", "Automatic")
//
// Variables, method arguments and fields of structures of that Go type have it as
// their DataType from then on, so it comes before them. Clients see an Int32, and
// cannot write other values than these (BadOutOfRange; Part 3, 5.8.3); the program
// can, but for the first value of a variable, and what an Int32 cannot hold
// becomes the nearest that it can. It returns the id of the new DataType, and the
// null id when it could not be made (see [ModelError]).
func AddEnumeration[E ~int | ~int32](n *Namespace, name string, values ...string) ua.NodeID {
	fields := make([]ua.EnumField, len(values))
	texts := make([]ua.LocalizedText, len(values))
	for i, v := range values {
		texts[i] = ua.LocalizedText{Text: v}
		fields[i] = ua.EnumField{Value: int64(i), Name: v, DisplayName: texts[i]}
	}
	return addEnumeration(n, "AddEnumeration", name, reflect.TypeFor[E](), fields, property{"EnumStrings", ua.SliceVariant(texts)})
}

// AddEnumerationMap is [AddEnumeration] for values that are not 0, 1, 2, ...: each
// has the name that the map gives it (EnumValues; Part 3, 5.8.3). They are Int32
// values.
//
//	uahive.AddEnumerationMap(ns, "Alarm", map[Alarm]string{Low: "Low", High: "High"})
func AddEnumerationMap[E ~int | ~int32](n *Namespace, name string, values map[E]string) ua.NodeID {
	fields := make([]ua.EnumField, 0, len(values))
	described := make([]ua.ExtensionObject, 0, len(values))
	for _, v := range slices.Sorted(maps.Keys(values)) {
		text := ua.LocalizedText{Text: values[v]}
		fields = append(fields, ua.EnumField{Value: int64(v), Name: text.Text, DisplayName: text})
		described = append(described, ua.ObjectOf(&ua.EnumValueType{Value: int64(v), DisplayName: text}))
	}
	return addEnumeration(n, "AddEnumerationMap", name, reflect.TypeFor[E](), fields, property{"EnumValues", ua.SliceVariant(described)})
}

func addEnumeration(
	n *Namespace, operation, name string, goType reflect.Type, fields []ua.EnumField, names property,
) ua.NodeID {
	root := n.parent()
	if root.failed != nil {
		return ua.NodeID{}
	}
	at := root.child(name)
	s := at.srv
	refuse := func(problem, instead string) ua.NodeID {
		at.refuse(&ModelError{Operation: operation, Path: name, Problem: problem, Instead: instead})
		return ua.NodeID{}
	}
	if goType.PkgPath() == "" {
		return refuse(goType.String()+" has a meaning already", "define a type of your own, like: type State int32")
	}
	if len(fields) == 0 {
		return refuse("no values", "name at least one")
	}
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		switch {
		case f.Value != int64(int32(f.Value)):
			return refuse(fmt.Sprintf("the value %d of %q", f.Value, f.Name), "use values that fit an int32")
		case f.Name == "" || seen[f.Name]:
			return refuse(fmt.Sprintf("the name %q of the value %d", f.Name, f.Value), "give each value a name of its own")
		}
		seen[f.Name] = true
	}
	m := &s.model
	m.mu.Lock()
	_, twice := m.enums[goType]
	used := m.plain[goType]
	m.mu.Unlock()
	if twice {
		return refuse(fmt.Sprintf("Go type %s is an enumeration already", goType), "add it once")
	}
	if used {
		return refuse(
			fmt.Sprintf("a variable, method argument or structure with the Go type %s exists already, as a plain number", goType),
			"call it before AddVariable, AddMethod and AddStructure",
		)
	}
	at.add(operation, addrspace.NodeSpec{
		ID: ua.StringID(at.ns, at.path), Class: ua.NodeClassDataType,
		BrowseName: ua.QualifiedName{NamespaceIndex: at.ns, Name: name},
		Parent:     ua.NumericID(0, id.Enumeration), Definition: &ua.EnumDefinition{Fields: fields},
	})
	if at.failed != nil {
		return ua.NodeID{}
	}
	at.addProperty(operation, names)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.enums == nil {
		m.enums = make(map[reflect.Type]ua.NodeID)
	}
	m.enums[goType] = at.at.ID()
	return at.at.ID()
}
