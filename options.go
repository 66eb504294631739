package uahive

import (
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// ObjectOption is an option of [Namespace.Object], [Object.Object] and the like.
type ObjectOption interface{ object(*addrspace.NodeSpec) }

// VariableOption is an option of [AddVariable] and [AddProperty].
type VariableOption interface{ variable(*variableSpec) }

// MethodOption is an option of [AddMethod].
type MethodOption interface{ method(*methodSpec) }

// NodeOption is an option of nodes of every kind.
type NodeOption func(*addrspace.NodeSpec)

func (f NodeOption) object(s *addrspace.NodeSpec) { f(s) }
func (f NodeOption) variable(s *variableSpec)     { f(&s.NodeSpec) }
func (f NodeOption) method(s *methodSpec)         { f(&s.NodeSpec) }

// variableSpec is what options of a variable write into.
type variableSpec struct {
	addrspace.NodeSpec
	properties  []property
	suggested   uint32 // VariableType where TypeDefinition was not given
	read, write any    // callbacks, to be compared with the Go type of the variable
	inline      bool
	numeric     string // the option that only numbers can have
	states      string // the option that names states
}

// property is a standard property of a variable.
type property struct {
	name  string
	value ua.Variant
}

type variableOption func(*variableSpec)

func (f variableOption) variable(s *variableSpec) { f(s) }

// methodSpec is what options of a method write into.
type methodSpec struct {
	addrspace.NodeSpec
	inline bool
}

// NodeID gives a node an id of its own choice. Its namespace must be one that
// the server has; see [Namespace.Index].
func NodeID(nodeID ua.NodeID) NodeOption {
	return func(s *addrspace.NodeSpec) { s.ID = nodeID }
}

// DisplayName is what clients show to people. Default: the name. See
// SetDisplayName for changing it later.
func DisplayName(text string) NodeOption {
	return func(s *addrspace.NodeSpec) { s.DisplayName = ua.LocalizedText{Text: text} }
}

// Description explains a node to people. Default: none.
func Description(text string) NodeOption {
	return func(s *addrspace.NodeSpec) { s.Description = ua.LocalizedText{Text: text} }
}

// typeOption is an option of objects and variables.
type typeOption struct{ nodeID ua.NodeID }

func (o typeOption) object(s *addrspace.NodeSpec) { s.TypeDefinition = o.nodeID }
func (o typeOption) variable(s *variableSpec)     { s.TypeDefinition = o.nodeID }

// TypeDefinition names the ObjectType or VariableType of a node. Default:
// BaseObjectType, and for variables what [AddVariable] says. The type's own
// components are not made by that.
func TypeDefinition(nodeID ua.NodeID) interface {
	ObjectOption
	VariableOption
} {
	return typeOption{nodeID}
}

// Writable lets clients write a variable, with status and source timestamp,
// which many clients send with each value. See [OnWrite] for checking what they
// write.
func Writable() VariableOption {
	return variableOption(func(s *variableSpec) { s.AccessLevel |= addrspace.ReadWrite })
}

// AccessLevel sets the access level bit by bit (Part 3, 8.57), in place of
// [Writable]. Default: CurrentRead.
func AccessLevel(level ua.AccessLevelExType) VariableOption {
	return variableOption(func(s *variableSpec) { s.AccessLevel = level })
}

// DataType narrows the DataType of a variable to a subtype of the one that its
// Go type stands for, as UtcTime for a time.Time.
func DataType(nodeID ua.NodeID) VariableOption {
	return variableOption(func(s *variableSpec) { s.NodeSpec.DataType = nodeID })
}

// Dimensions bounds the length of each dimension of an array or matrix; 0 stands
// for any length (Part 3, 5.6.2). Default: any lengths. Clients cannot write
// longer arrays.
func Dimensions(lengths ...uint32) VariableOption {
	return variableOption(func(s *variableSpec) { s.NodeSpec.Dimensions = lengths })
}

// MinimumSamplingInterval tells clients how often the value can change at most,
// and keeps the server from asking [OnRead] more often than that (Part 3,
// 5.6.2). Default: not said.
func MinimumSamplingInterval(d time.Duration) VariableOption {
	ms := float64(d) / float64(time.Millisecond)
	return variableOption(func(s *variableSpec) { s.NodeSpec.MinimumSamplingInterval = &ms })
}

// Historizing says that the program records the history of the variable.
func Historizing() VariableOption {
	return variableOption(func(s *variableSpec) { s.NodeSpec.Historizing = true })
}

// InitialStatus is the status of the first value, as
// ua.BadWaitingForInitialData for a value that is not known yet. Default: Good.
func InitialStatus(status ua.StatusCode) VariableOption {
	return variableOption(func(s *variableSpec) { s.NodeSpec.Status = status })
}

type inlineOption struct{}

func (inlineOption) variable(s *variableSpec) { s.inline = true }
func (inlineOption) method(s *methodSpec)     { s.inline = true }

// Inline promises that the callbacks of a variable or method never wait and take
// no more than a few microseconds. They are then called on the goroutine that
// reads the client's connection, instead of on the worker pool, which is faster.
// [OnRead] is given a context without a caller then.
func Inline() interface {
	VariableOption
	MethodOption
} {
	return inlineOption{}
}
