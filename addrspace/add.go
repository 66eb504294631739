package addrspace

import (
	"fmt"
	"slices"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// NodeSpec says what a new node is. Fields that do not apply to the class are
// ignored; the zero value of a field gives the default that it states. The node
// keeps strings, slices and values: what came out of a receive buffer has to be
// cloned. (It has copies of its names and of the text of a string id.)
type NodeSpec struct {
	// ID is the node's id. null: a number that is free in the namespace of
	// the BrowseName.
	ID    ua.NodeID
	Class ua.NodeClass
	// BrowseName is required.
	BrowseName  ua.QualifiedName
	DisplayName ua.LocalizedText // default: the text of the BrowseName
	Description ua.LocalizedText

	// Parent is the node that gets a reference to the new one; null: none.
	Parent ua.NodeID
	// ReferenceType is the type of that reference, which must be
	// hierarchical. Default: HasSubtype for types, Organizes below a node
	// whose type is FolderType, HasComponent otherwise.
	ReferenceType ua.NodeID
	// TypeDefinition is the type of an Object or Variable. Default:
	// BaseObjectType; PropertyType for the target of HasProperty,
	// BaseDataVariableType for other variables.
	TypeDefinition ua.NodeID

	// Variables and VariableTypes.

	// DataType defaults to the type of the Value, or BaseDataType. For a
	// structure it is the DataType whose encoding the value has.
	DataType ua.NodeID
	// ValueRank; nil: as the Value is (-1 for a scalar or no value).
	ValueRank  *int32
	Dimensions []uint32
	// Value is the first value. A variable that has none yet is better given
	// the status BadWaitingForInitialData than a good null.
	Value           ua.Variant
	Status          ua.StatusCode
	SourceTimestamp ua.DateTime // default: now

	// Variables.

	// AccessLevel holds AccessLevelEx; its lowest byte is AccessLevel.
	// Default: CurrentRead. See [ReadWrite].
	AccessLevel ua.AccessLevelExType
	// UserAccessLevel; nil: as the AccessLevel.
	UserAccessLevel *ua.AccessLevelType
	// MinimumSamplingInterval in milliseconds; nil: not present.
	MinimumSamplingInterval *float64
	Historizing             bool
	Source                  *Source

	// Objects and Views.
	EventNotifier   ua.EventNotifierType
	ContainsNoLoops bool

	// Types.
	IsAbstract  bool
	Symmetric   bool
	InverseName ua.LocalizedText
	Definition  ua.Structure // of a DataType; nil: not present

	// Methods.
	Method            *Method
	NotExecutable     bool
	UserNotExecutable bool

	// All classes; rights are enforced by the services.
	WriteMask     ua.AttributeWriteMask
	UserWriteMask ua.AttributeWriteMask // 0: as the WriteMask
	// RolePermissions and AccessRestrictions; nil: the default of the namespace
	// holds, see [Space.SetDefaultAccess].
	RolePermissions    []ua.RolePermissionType
	AccessRestrictions *ua.AccessRestrictionType
}

// ReadWrite is the access level of a variable in memory that clients may write,
// with status and source timestamp: the Standard profile asks for both, and
// several clients send a timestamp with every write.
const ReadWrite = ua.AccessLevelExTypeCurrentRead | ua.AccessLevelExTypeCurrentWrite |
	ua.AccessLevelExTypeStatusWrite | ua.AccessLevelExTypeTimestampWrite

// AddNode adds a node with its type definition and the reference from its
// parent. Errors wrap the ua.StatusCode that the AddNodes service would answer
// (Part 4, 5.8.2.4).
func (s *Space) AddNode(spec NodeSpec) (*Node, error) {
	s.mu.Lock()
	n, err := s.addNode(&spec)
	s.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("addrspace: add %s %q: %w", spec.ID, spec.BrowseName, err)
	}
	s.notifyModel(ModelChange{Node: n.id, Verb: NodeAdded})
	return n, nil
}

// placement is what addNode found out about a node's neighbours.
type placement struct {
	parent, refType, typeDef *Node
}

func (s *Space) addNode(spec *NodeSpec) (*Node, error) {
	if err := s.checkSpec(spec); err != nil {
		return nil, err
	}
	place, err := s.place(spec)
	if err != nil {
		return nil, err
	}
	n, err := s.newNode(spec, place.typeDef)
	if err != nil {
		return nil, err
	}
	// From here on nothing fails, except a supertype that does not fit, which
	// is found out before anything is published.
	if place.refType != nil && place.refType.refIndex() == refHasSubtype {
		if err := s.setSupertype(n, place.parent); err != nil {
			return nil, err
		}
	}
	if n.class == classReferenceType {
		s.addReferenceType(n)
	}
	// The node is complete with the references of its own before it can be
	// found, and its parent comes last.
	if place.typeDef != nil {
		s.linkUnchecked(n, refHasTypeDefinition<<1, place.typeDef)
	}
	s.index.put(n)
	if place.parent != nil {
		s.linkUnchecked(place.parent, place.refType.refIndex()<<1, n)
	}
	return n, nil
}

func (s *Space) checkSpec(spec *NodeSpec) error {
	namespaces := len(s.Namespaces())
	name := &spec.BrowseName
	if name.Name == "" || len(name.Name) > s.limits.BrowseNameLength || int(name.NamespaceIndex) >= namespaces {
		return ua.BadBrowseNameInvalid
	}
	switch uint8(spec.Class) {
	case classObject, classVariable, classMethod, classObjectType, classVariableType, classReferenceType,
		classDataType, classView:
	default:
		return ua.BadNodeClassInvalid
	}
	if s.limits.Nodes > 0 && s.index.live >= s.limits.Nodes {
		return ua.BadOutOfMemory
	}
	if spec.ID.IsNull() {
		spec.ID = s.freeID(name.NamespaceIndex)
		return nil
	}
	if int(spec.ID.Namespace()) >= namespaces {
		return ua.BadNodeIDRejected
	}
	if s.index.get(&spec.ID) != nil {
		return ua.BadNodeIDExists
	}
	return nil
}

// freeID picks the next free number of a namespace.
func (s *Space) freeID(ns uint16) ua.NodeID {
	for {
		s.nextID[ns]++
		if candidate := ua.NumericID(ns, s.nextID[ns]); !candidate.IsNull() && s.index.get(&candidate) == nil {
			return candidate
		}
	}
}

func (s *Space) place(spec *NodeSpec) (p placement, err error) {
	class := uint8(spec.Class)
	if !spec.Parent.IsNull() {
		if p.parent = s.index.get(&spec.Parent); p.parent == nil {
			return p, ua.BadParentNodeIDInvalid
		}
		refType := spec.ReferenceType
		if refType.IsNull() {
			refType = ns0ID(defaultReference(class, p.parent))
		}
		p.refType = s.index.get(&refType)
		if p.refType == nil || p.refType.class != classReferenceType {
			return p, ua.BadReferenceTypeIDInvalid
		}
		if !s.isHierarchical(p.refType) {
			return p, ua.BadReferenceNotAllowed
		}
	}
	if class != classObject && class != classVariable {
		return p, nil
	}
	typeDef, want := spec.TypeDefinition, classObjectType
	if class == classVariable {
		want = classVariableType
	}
	if typeDef.IsNull() {
		switch {
		case class == classObject:
			typeDef = ns0ID(id.BaseObjectType)
		case p.refType != nil && p.refType.refIndex() == refHasProperty:
			typeDef = ns0ID(id.PropertyType)
		default:
			typeDef = ns0ID(id.BaseDataVariableType)
		}
	}
	p.typeDef = s.index.get(&typeDef)
	if p.typeDef == nil || p.typeDef.class != want || (*s.refTypes.Load())[refHasTypeDefinition] == nil {
		return p, ua.BadTypeDefinitionInvalid
	}
	return p, nil
}

func defaultReference(class uint8, parent *Node) uint32 {
	if isTypeClass(class) && isTypeClass(parent.class) {
		return id.HasSubtype
	}
	if t := parent.TypeDefinition(); t != nil && t.isSubtypeOf(ns0ID(id.FolderType)) {
		return id.Organizes
	}
	return id.HasComponent
}

// newNode makes the node without its references.
func (s *Space) newNode(spec *NodeSpec, typeDef *Node) (*Node, error) {
	class := uint8(spec.Class)
	n := emptyNode(s, class)
	n.id = spec.ID
	display := spec.DisplayName
	if display == (ua.LocalizedText{}) {
		display.Text = spec.BrowseName.Name
	}
	n.described = s.describe(n, spec.BrowseName, display, typeDef)
	if n.id.Type() == ua.IDTypeString {
		// The text is kept once.
		n.id = ua.StringID(n.id.Namespace(), n.described.idText())
	}
	if a, any := specAttrs(spec); any {
		n.attrs.Store(&a)
	}
	if err := n.resetAccess(); err != nil {
		return nil, err
	}
	if class != classVariable && class != classVariableType {
		return n, nil
	}
	sh, err := s.specShape(spec)
	if err != nil {
		return nil, err
	}
	if class == classVariableType {
		n.update(func(a *attrs) {
			a.varType = &variableTypeAttrs{
				value: spec.Value, dataType: sh.dataType, valueRank: sh.rank, dimensions: sh.dimensions,
			}
		})
		return n, nil
	}
	initVariable(n.Variable(), spec, &sh)
	return n, nil
}

func initVariable(v *Variable, spec *NodeSpec, sh *shape) {
	v.dataType.Store(sh.dataType)
	v.rank.Store(sh.rank)
	access := spec.AccessLevel
	if access == 0 {
		access = ua.AccessLevelExTypeCurrentRead
	}
	v.access.Store(uint32(access))
	if spec.Dimensions != nil || spec.Source != nil || spec.MinimumSamplingInterval != nil ||
		spec.UserAccessLevel != nil || spec.Historizing {
		v.configure(func(c *variableConfig) {
			c.dimensions, c.historizing = slices.Clone(spec.Dimensions), spec.Historizing
			c.setSource(spec.Source)
			if spec.MinimumSamplingInterval != nil {
				c.minimumSampling = max(*spec.MinimumSamplingInterval, 0)
			}
			if spec.UserAccessLevel != nil {
				c.userAccess, c.hasUserAccess = *spec.UserAccessLevel, true
			}
		})
	}
	dv := ua.DataValue{Value: spec.Value, Status: spec.Status, SourceTimestamp: spec.SourceTimestamp}
	if dv.SourceTimestamp == 0 {
		dv.SourceTimestamp = ua.DateTimeOf(time.Now())
	}
	v.set(&dv, nil, 0)
}

// specShape finds the DataType, rank and dimensions of a new variable.
func (s *Space) specShape(spec *NodeSpec) (shape, error) {
	sh := shape{dimensions: spec.Dimensions, rank: -1}
	dataType := spec.DataType
	if dataType.IsNull() {
		dataType = s.dataTypeOf(&spec.Value)
	}
	sh.dataType = s.index.get(&dataType)
	if sh.dataType == nil || sh.dataType.class != classDataType {
		return sh, fmt.Errorf("data type %s: %w", dataType, ua.BadNodeAttributesInvalid)
	}
	if spec.ValueRank != nil {
		sh.rank = *spec.ValueRank
	} else if r := spec.Value.Rank(); r > 0 {
		sh.rank = int32(r)
	} else if len(spec.Dimensions) > 0 {
		sh.rank = int32(len(spec.Dimensions))
	}
	if sh.rank < -3 || sh.rank > 0 && len(sh.dimensions) > 0 && int(sh.rank) != len(sh.dimensions) {
		return sh, fmt.Errorf("value rank %d with %d dimensions: %w", sh.rank, len(sh.dimensions), ua.BadNodeAttributesInvalid)
	}
	if !spec.Value.IsNull() {
		value, code := sh.check(s, spec.Value)
		if code.IsBad() {
			return sh, fmt.Errorf("value of a data type %s: %w", dataType, code)
		}
		spec.Value = value
	}
	return sh, nil
}

// dataTypeOf returns the DataType that a value has of itself.
func (s *Space) dataTypeOf(v *ua.Variant) ua.NodeID {
	if v.IsNull() {
		return ns0ID(id.BaseDataType)
	}
	if v.Type() == ua.TypeExtensionObject {
		var first ua.ExtensionObject
		if x, ok := ua.As[ua.ExtensionObject](*v); ok {
			first = x
		} else if xs, ok := ua.As[[]ua.ExtensionObject](*v); ok && len(xs) > 0 {
			first = xs[0]
		}
		if t := s.EncodedDataType(objectType(&first)); t != nil {
			return t.id
		}
	}
	return ns0ID(uint32(v.Type()))
}

// specAttrs returns the rare attributes that a spec asks for, and whether there
// are any.
func specAttrs(spec *NodeSpec) (a attrs, any bool) {
	a = attrs{
		description: spec.Description, writeMask: spec.WriteMask, userWriteMask: spec.UserWriteMask,
		rolePermissions: spec.RolePermissions,
	}
	if a.userWriteMask == 0 {
		a.userWriteMask = a.writeMask
	}
	any = a.description != (ua.LocalizedText{}) || a.writeMask != 0 || a.rolePermissions != nil
	if spec.AccessRestrictions != nil {
		a.accessRestrictions, a.hasRestrictions, any = *spec.AccessRestrictions, true, true
	}
	switch class := uint8(spec.Class); class {
	case classObject, classView:
		a.eventNotifier, a.containsNoLoops = spec.EventNotifier, spec.ContainsNoLoops
		any = any || a.eventNotifier != 0 || a.containsNoLoops
	case classMethod:
		a.method, a.notExecutable, a.userNotExecutable = spec.Method, spec.NotExecutable, spec.UserNotExecutable
		any = any || a.method != nil || a.notExecutable || a.userNotExecutable
	case classObjectType, classVariableType, classReferenceType, classDataType:
		a.isAbstract, a.symmetric, a.inverseName = spec.IsAbstract, spec.Symmetric, spec.InverseName
		if class == classDataType && spec.Definition != nil {
			a.definition, a.enum = spec.Definition, enumOf(spec.Definition)
		}
		any = true
	}
	return a, any
}
