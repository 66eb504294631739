package events

import (
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// attribute is a SimpleAttributeOperand, resolved (Part 4, 7.7.4.5).
type attribute struct {
	invalid bool      // always null
	base    baseField // the field of BaseEventType, which every event has
	typ     ua.NodeID // only events of this type have it; null: any
	path    []ua.QualifiedName
	indexes ua.NumericRange
	code    bool // its DataType is StatusCode, so that such a value is no sign of an error
}

func (a *attribute) size() int {
	size := 96
	for _, n := range a.path {
		size += 24 + len(n.Name)
	}
	return size
}

// value returns the value in an event, null where it has none. The status is that of
// an index range that leads beyond the value.
func (a *attribute) value(types *addrspace.Space, e *Event) (ua.Variant, ua.StatusCode) {
	if a.invalid {
		return ua.Variant{}, ua.Good
	}
	if !a.typ.IsNull() && a.typ != e.Type && !types.IsSubtypeOf(e.Type, a.typ) {
		return ua.Variant{}, ua.Good
	}
	var v ua.Variant
	if a.base != noBaseField {
		v = e.base(a.base)
	} else {
		v = e.field(a.path)
	}
	if a.indexes != nil && !v.IsNull() {
		var code ua.StatusCode
		if v, code = v.Slice(a.indexes); code != ua.Good {
			return ua.Variant{}, code
		}
	}
	return v, ua.Good
}

// compiler resolves the parts of one filter.
type compiler struct {
	space  *addrspace.Space
	limits Limits

	eventTypes   []*addrspace.Node // all of them, once they are needed
	hierarchical *addrspace.ReferenceTypes
}

var (
	hierarchicalReferences = ua.NumericID(0, id.HierarchicalReferences)
	hasSubtype             = ua.NumericID(0, id.HasSubtype)
	statusCodeType         = ua.NumericID(0, id.StatusCode)
)

// attribute resolves an operand, and reports errors that are true for all possible
// events (Part 4, 7.22.3).
func (c *compiler) attribute(a *attribute, o *ua.SimpleAttributeOperand) ua.StatusCode {
	code := c.resolve(a, o)
	if code != ua.Good {
		*a = attribute{invalid: true}
	}
	return code
}

func (c *compiler) resolve(a *attribute, o *ua.SimpleAttributeOperand) ua.StatusCode {
	typ := c.space.Node(o.TypeDefinitionID)
	if typ == nil || typ.Class() != ua.NodeClassObjectType || !c.space.IsSubtypeOf(typ.ID(), baseEventType) {
		return ua.BadTypeDefinitionInvalid
	}
	for _, n := range o.BrowsePath {
		if n.Name == "" {
			return ua.BadBrowseNameInvalid
		}
	}
	var declared *addrspace.Node // nil: the event itself
	if len(o.BrowsePath) > 0 {
		if declared = c.declared(typ, o.BrowsePath); declared == nil {
			return ua.BadNodeIDUnknown
		}
	}
	// The value of a variable and the NodeId of an object are all that an event
	// has, which is no node.
	if declared != nil && declared.Variable() != nil {
		if o.AttributeID != ua.AttributeIDValue {
			return ua.BadAttributeIDInvalid
		}
		a.code = declared.Variable().DataType() == statusCodeType
	} else if o.AttributeID != ua.AttributeIDNodeID {
		return ua.BadAttributeIDInvalid
	}
	if o.IndexRange != "" {
		var code ua.StatusCode
		if a.indexes, code = ua.ParseNumericRange(o.IndexRange); code != ua.Good {
			return ua.BadIndexRangeInvalid
		}
		if !c.mayHaveRange(declared) {
			return ua.BadTypeMismatch
		}
	}
	if typ.ID() != baseEventType {
		a.typ = typ.ID()
	}
	if len(o.BrowsePath) == 1 && o.BrowsePath[0].NamespaceIndex == 0 {
		a.base = baseFieldOf(o.BrowsePath[0].Name)
	}
	a.path = cloneNames(o.BrowsePath)
	return ua.Good
}

// mayHaveRange reports whether a value can be an array, or something else of which
// there are parts.
func (c *compiler) mayHaveRange(n *addrspace.Node) bool {
	if n == nil || n.Variable() == nil {
		return false
	}
	if n.Variable().ValueRank() != -1 {
		return true
	}
	switch c.space.DataTypeKind(n.Variable().DataType()) {
	case ua.TypeString, ua.TypeByteString, ua.TypeXMLElement, ua.TypeVariant, ua.TypeNull:
		return true
	}
	return false
}

// declared finds the InstanceDeclaration at a path from a type or any of its
// supertypes. From BaseEventType the path is followed without considering the type:
// it may be that of any event.
func (c *compiler) declared(typ *addrspace.Node, path []ua.QualifiedName) *addrspace.Node {
	if c.hierarchical == nil {
		c.hierarchical, _ = c.space.ReferenceTypes(hierarchicalReferences, true)
	}
	for t := typ; t != nil; t = t.Supertype() {
		if n := c.follow(t, path); n != nil {
			return n
		}
	}
	if typ.ID() != baseEventType {
		return nil
	}
	for _, t := range c.allEventTypes(typ) {
		if n := c.follow(t, path); n != nil {
			return n
		}
	}
	return nil
}

// follow walks a path of browse names over Objects and Variables.
func (c *compiler) follow(from *addrspace.Node, path []ua.QualifiedName) *addrspace.Node {
	for i, name := range path {
		var next *addrspace.Node
		for n := range from.Named(name, ua.BrowseDirectionForward, c.hierarchical) {
			if n.Class() == ua.NodeClassVariable || n.Class() == ua.NodeClassObject {
				next = n
				break
			}
		}
		if next == nil {
			return nil
		}
		// What stands below an object or variable of a type may come from that one's
		// own type.
		if t := next.TypeDefinition(); t != nil && i+1 < len(path) && c.follow(next, path[i+1:i+2]) == nil {
			for ; t != nil; t = t.Supertype() {
				if n := c.follow(t, path[i+1:i+2]); n != nil {
					next = t
					break
				}
			}
		}
		from = next
	}
	return from
}

// maxEventTypes is how many types are searched for a name.
const maxEventTypes = 10_000

func (c *compiler) allEventTypes(base *addrspace.Node) []*addrspace.Node {
	if c.eventTypes != nil {
		return c.eventTypes
	}
	subtypes, _ := c.space.ReferenceTypes(hasSubtype, true)
	c.eventTypes = []*addrspace.Node{base}
	for i := 0; i < len(c.eventTypes); i++ {
		refs := c.eventTypes[i].References()
		for pos := 0; len(c.eventTypes) < maxEventTypes; {
			ref, next, ok := refs.Next(pos, ua.BrowseDirectionForward, subtypes)
			if !ok {
				break
			}
			pos = next
			c.eventTypes = append(c.eventTypes, ref.Target)
		}
	}
	return c.eventTypes
}
