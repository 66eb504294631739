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

// NodeOption is an option of nodes of every kind: an [ObjectOption], a
// [VariableOption] and a [MethodOption].
type NodeOption struct{ apply func(*addrspace.NodeSpec) }

func (o NodeOption) object(s *addrspace.NodeSpec) { o.apply(s) }
func (o NodeOption) variable(s *variableSpec)     { o.apply(&s.NodeSpec) }
func (o NodeOption) method(s *methodSpec)         { o.apply(&s.NodeSpec) }

// TypeOption is an option of what has a type: an [ObjectOption] and a
// [VariableOption].
type TypeOption struct{ nodeID ua.NodeID }

func (o TypeOption) object(s *addrspace.NodeSpec) { s.TypeDefinition = o.nodeID }
func (o TypeOption) variable(s *variableSpec)     { s.TypeDefinition = o.nodeID }

// CallbackOption is an option of what calls the program: a [VariableOption] and a
// [MethodOption].
type CallbackOption struct{}

func (CallbackOption) variable(s *variableSpec) { s.inline = true }
func (CallbackOption) method(s *methodSpec)     { s.inline = true }

// variableSpec is what options of a variable write into.
type variableSpec struct {
	addrspace.NodeSpec
	properties []property
	suggested  uint32 // VariableType where TypeDefinition was not given
	// Callbacks, to be compared with the Go type of the variable. nil: the option
	// was not given.
	read, write, stored any
	rights              *rights
	inline              bool
	numeric             string   // the option that only numbers can have
	states              string   // the option that names states
	names               int      // how many states EnumStrings names
	wrong               *mistake // the first that an option is by itself
}

// mistake is what is wrong with an option, whatever the variable.
type mistake struct{ problem, instead string }

func (s *variableSpec) mistake(problem, instead string) {
	if s.wrong == nil {
		s.wrong = &mistake{problem, instead}
	}
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
	rights *rights
	secret bool
}

// NodeID gives a node an id of its own choice. Its namespace must be one that
// the server has; see [Namespace.Index].
func NodeID(nodeID ua.NodeID) NodeOption {
	return NodeOption{func(s *addrspace.NodeSpec) { s.ID = nodeID }}
}

// DisplayName is what clients show to people. Default: the name. See
// SetDisplayName for changing it later.
func DisplayName(text string) NodeOption {
	return NodeOption{func(s *addrspace.NodeSpec) { s.DisplayName = ua.LocalizedText{Text: text} }}
}

// Description explains a node to people. Default: none.
func Description(text string) NodeOption {
	return NodeOption{func(s *addrspace.NodeSpec) { s.Description = ua.LocalizedText{Text: text} }}
}

// TypeDefinition names the ObjectType or VariableType of a node. Default:
// BaseObjectType, and for variables what [AddVariable] says. The type's own
// components are not made by that.
func TypeDefinition(nodeID ua.NodeID) TypeOption { return TypeOption{nodeID} }

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

// Inline promises that the callbacks of a variable or method never wait and take
// no more than a few microseconds. They are then called on the goroutine that
// reads the client's connection, instead of on the worker pool, which is faster.
// [OnRead] and [OnWrite] are given a context without a caller then, so that it
// does not go together with [WritableBy].
func Inline() CallbackOption { return CallbackOption{} }
