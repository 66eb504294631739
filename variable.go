package uahive

import (
	"fmt"
	"reflect"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// Variable is a Variable node whose values have the Go type T. Its methods may
// be called from any goroutine, and none of them waits for a client. It is a
// [Parent], for parts and properties.
type Variable[T any] struct {
	node
	cell *addrspace.Variable // nil: could not be made
	conv *converter[T]
}

// AddVariable adds a variable with its first value. The DataType and ValueRank
// that clients see follow from the Go type:
//
//   - bool, the numbers, string, []byte (ByteString) and the types of package ua
//     stand for the built-in types; int and uint are Int64 and UInt64;
//   - time.Time is a DateTime, time.Duration a Duration (a Double of
//     milliseconds, Part 3, 8.13);
//   - structures of package ua, or registered with it, are themselves, as value
//     or pointer; structs of the program's own are what [AddStructure] made of
//     them, as values;
//   - enumerations of package ua, and those of [AddEnumeration] and
//     [AddEnumerationMap], are themselves; other types of a program's own count as
//     their underlying type;
//   - slices are arrays of one dimension (with [ByteArray] for arrays of Byte), a
//     [Matrix] has more;
//   - ua.Variant takes values of any type and rank.
//
// Without options, clients can read the variable and not write it. Its type is
// BaseDataVariableType unless an option asks for more. See [ModelError] for what
// happens when it cannot be added.
func AddVariable[T any](parent Parent, name string, value T, opts ...VariableOption) *Variable[T] {
	return newVariable(parent, "AddVariable", name, value, addrspace.NodeSpec{}, opts)
}

// AddProperty adds a property: a value that describes its parent and has no
// parts of its own (Part 3, 4.4.2). Otherwise it is as [AddVariable].
func AddProperty[T any](parent Parent, name string, value T, opts ...VariableOption) *Variable[T] {
	return newVariable(parent, "AddProperty", name, value, addrspace.NodeSpec{
		ReferenceType: ua.NumericID(0, id.HasProperty), TypeDefinition: ua.NumericID(0, id.PropertyType),
	}, opts)
}

func newVariable[T any](parent Parent, operation, name string, value T, base addrspace.NodeSpec, opts []VariableOption) *Variable[T] {
	at := parent.parent()
	v := &Variable[T]{node: at.child(name)}
	if v.failed != nil {
		return v
	}
	spec := variableSpec{NodeSpec: base}
	spec.ID, spec.Class = ua.StringID(v.ns, v.path), ua.NodeClassVariable
	spec.BrowseName = ua.QualifiedName{NamespaceIndex: v.ns, Name: name}
	spec.Parent = at.at.ID()
	for _, opt := range opts {
		opt.variable(&spec)
	}
	refuse := func(problem, instead string) *Variable[T] {
		v.refuse(&ModelError{Operation: operation, Path: v.path, Problem: problem, Instead: instead})
		return v
	}
	if at.isProperty() {
		return refuse("below a property", "add it to the object or variable that the property describes (properties have no parts)")
	}
	f, err := v.srv.formOf(reflect.TypeFor[T]())
	if err != nil {
		return refuse("not a type for a variable", err.Error())
	}
	if spec.wrong != nil {
		return refuse(spec.wrong.problem, spec.wrong.instead)
	}
	if problem := spec.unfit(&f); problem != "" {
		return refuse(fmt.Sprintf("Go type %s", reflect.TypeFor[T]()), problem)
	}
	if len(spec.properties) > 0 && !base.ReferenceType.IsNull() {
		return refuse("a property with the property "+spec.properties[0].name, "make it a variable, with AddVariable")
	}
	v.conv = converterFor[T](v.srv, f)
	v.describe(&spec, f, value)
	if spec.states == "EnumStrings" && !named(spec.Value, spec.names) {
		return refuse(fmt.Sprintf("the first value, %v", value), fmt.Sprintf("begin with one of the %d values that EnumStrings names", spec.names))
	}
	if wrong := v.connect(&spec, &f); wrong != nil {
		return refuse(wrong.problem, wrong.instead)
	}
	v.add(operation, spec.NodeSpec)
	if v.at == nil {
		return v
	}
	v.cell = v.at.Variable()
	for _, p := range spec.properties {
		v.addProperty(operation, p)
	}
	return v
}

// describe completes a spec with what follows from the Go type and the value.
func (v *Variable[T]) describe(spec *variableSpec, f form, value T) {
	if spec.NodeSpec.DataType.IsNull() {
		spec.NodeSpec.DataType = f.dataType
	}
	if spec.TypeDefinition.IsNull() && spec.suggested != 0 {
		spec.TypeDefinition = ua.NumericID(0, spec.suggested)
	}
	if m, ok := any(value).(matrix); ok {
		f.rank = max(f.rank, int32(m.rank()))
	}
	spec.ValueRank = &f.rank
	spec.Value = v.conv.encode(value)
}

// addProperty adds one of the standard's properties.
func (n *node) addProperty(operation string, p property) {
	child := n.child(p.name)
	grants, restrictions := n.at.OwnAccess()
	child.add(operation, addrspace.NodeSpec{
		RolePermissions: readable(grants), AccessRestrictions: restrictions,
		ID: n.partID(n.at.ID(), p.name), Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{Name: p.name},
		Parent: n.at.ID(), ReferenceType: ua.NumericID(0, id.HasProperty), Value: p.value,
	})
}

// partID is the id of a part that a node of ours has by itself: it continues the
// node's id where that is a string, and its path otherwise.
func (n *node) partID(of ua.NodeID, name string) ua.NodeID {
	if of.Type() == ua.IDTypeString {
		return ua.StringID(of.Namespace(), of.Text()+"."+name)
	}
	return ua.StringID(n.ns, n.child(name).path)
}

// Set stores a good value with the time of now. What the value refers to is
// copied. A value that equals the present one keeps its old timestamp and is not
// reported again (Part 4, 7.11.3); SetAt with a time always counts. Setting a
// number allocates nothing.
func (v *Variable[T]) Set(value T) {
	if v.cell != nil {
		v.cell.Store(ua.DataValue{Value: v.conv.encode(value)})
	}
}

// SetAt stores a value with a status and the time at which its source had it.
// The zero time stands for now.
func (v *Variable[T]) SetAt(value T, status ua.StatusCode, at time.Time) {
	if v.cell != nil {
		v.cell.Store(v.dataValue(value, status, at))
	}
}

func (v *Variable[T]) dataValue(value T, status ua.StatusCode, at time.Time) ua.DataValue {
	dv := ua.DataValue{Value: v.conv.encode(value), Status: status}
	if !at.IsZero() {
		dv.SourceTimestamp, dv.SourcePicoseconds = ua.DateTimePicoseconds(at)
	}
	return dv
}

// SetStatus keeps the value and changes its status, with the time of now: to
// ua.BadCommunicationError when the device is gone, say. Clients are sent both
// (Part 4, 7.11.1).
func (v *Variable[T]) SetStatus(status ua.StatusCode) {
	if v.cell != nil {
		v.cell.StoreStatus(status)
	}
}

// Get returns a copy of the stored value, whatever its status: the one that was
// set last, by the program or a client. It is the zero value when the stored
// one is null, which clients can write where the type has a null value. For a
// variable with [OnRead] it is not what clients read.
func (v *Variable[T]) Get() T {
	if v.cell == nil {
		var zero T
		return zero
	}
	value, _ := v.conv.decode(v.cell.Load().Value)
	return value
}

// Value returns the stored value with its status and source timestamp, without
// copying: what it refers to must not be changed.
func (v *Variable[T]) Value() ua.DataValue {
	if v.cell == nil {
		return ua.DataValue{Status: ua.BadNodeIDUnknown}
	}
	return v.cell.Load()
}

// SetVariant stores a value without copying or converting it: the variable owns
// what it refers to from then on. It is for large arrays that are made anew each
// time. BadTypeMismatch says that it does not fit the DataType and ValueRank.
func (v *Variable[T]) SetVariant(value ua.Variant) error {
	if v.cell == nil {
		return v.Err()
	}
	value, code := v.cell.CheckValue(value)
	if code.IsBad() {
		return code
	}
	v.cell.Store(ua.DataValue{Value: value})
	return nil
}

// SetEURange changes the range that was given with [EURange]. Clients that
// monitor the variable see the SemanticsChanged bit (Part 4, 7.39). It has no
// effect on a variable without one. What is no range has no effect either, and is
// kept for [Server.Err].
func (v *Variable[T]) SetEURange(low, high float64) {
	if v.mistaken("SetEURange", wrongRange("EURange", low, high)) {
		return
	}
	v.setProperty("EURange", &ua.Range{Low: low, High: high})
}

// SetEngineeringUnits changes the unit that was given with [EngineeringUnits],
// as SetEURange does.
func (v *Variable[T]) SetEngineeringUnits(unit ua.EUInformation) {
	if v.mistaken("SetEngineeringUnits", wrongUnit(&unit)) {
		return
	}
	v.setProperty("EngineeringUnits", &unit)
}

// mistaken keeps what is wrong with a call on a variable that exists.
func (v *Variable[T]) mistaken(operation string, wrong *mistake) bool {
	if wrong == nil || v.at == nil {
		return false
	}
	v.srv.fail(&ModelError{Operation: operation, Path: v.path, Problem: wrong.problem, Instead: wrong.instead})
	return true
}

func (v *Variable[T]) setProperty(name string, value ua.Structure) {
	if v.at == nil {
		return
	}
	if p := v.at.Property(name); p != nil && p.Variable() != nil {
		p.Variable().Store(ua.DataValue{Value: ua.VariantOf(ua.ObjectOf(value))})
	}
}
