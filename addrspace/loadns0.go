package addrspace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/uahive/uahive/addrspace/ns0"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// LoadNS0 fills an empty space with the standard's own nodes, namespace 0. It
// takes a few milliseconds. Watchers and model changes do not see it. An error
// says that the generated tables contradict themselves.
func (s *Space) LoadNS0() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index.live > 0 {
		return errors.New("addrspace: load namespace 0: the space is not empty")
	}
	l := loader{space: s, now: ua.DateTimeOf(time.Now())}
	s.index.reserve(len(ns0.Nodes))
	l.addNodes()
	if err := l.addReferences(); err != nil {
		return fmt.Errorf("addrspace: load namespace 0: %w", err)
	}
	l.describe()
	if err := l.fillIn(); err != nil {
		return fmt.Errorf("addrspace: load namespace 0: %w", err)
	}
	s.publishNamespaces()
	return nil
}

type loader struct {
	space *Space
	now   ua.DateTime
	nodes [len(ns0.Nodes)]*Node // parallel to ns0.Nodes
}

// addNodes makes all nodes, without what refers to other nodes.
func (l *loader) addNodes() {
	s := l.space
	for i := range ns0.Nodes {
		row := &ns0.Nodes[i]
		spec := NodeSpec{
			Class: ua.NodeClass(row.Class), BrowseName: ua.QualifiedName{Name: row.BrowseName},
			DisplayName:   ua.LocalizedText{Text: row.DisplayName},
			EventNotifier: ua.EventNotifierType(row.EventNotifier),
			IsAbstract:    row.IsAbstract, Symmetric: row.Symmetric,
			InverseName:   ua.LocalizedText{Text: row.InverseName},
			NotExecutable: row.Class == classMethod && !row.Executable,
		}
		spec.UserNotExecutable = spec.NotExecutable
		if row.Restrictions != 0 {
			spec.AccessRestrictions = new(ua.AccessRestrictionType(row.Restrictions))
		}
		n := emptyNode(s, row.Class)
		n.id = ns0ID(row.ID)
		if a, any := specAttrs(&spec); any {
			n.attrs.Store(&a)
		}
		if row.Restrictions != 0 {
			_ = n.resetAccess() // the first sets of a space always fit
		}
		l.nodes[i] = n
		s.index.put(n)
		if n.class == classReferenceType {
			s.addReferenceType(n)
		}
	}
}

// emptyNode allocates a node of a class, with its value cell if it has one.
func emptyNode(s *Space, class uint8) *Node {
	if class == classVariable {
		v := new(Variable)
		v.node.space, v.node.class = s, class
		return &v.node
	}
	return &Node{space: s, class: class}
}

// addReferences links the nodes, each list sized exactly. Type definitions go
// first, where [Node.TypeDefinition] looks first.
func (l *loader) addReferences() error {
	s := l.space
	degree := make(map[*Node]int, len(l.nodes))
	type edge struct{ source, typ, target *Node }
	edges := make([]edge, len(ns0.Refs))
	for i, r := range ns0.Refs {
		source, typ, target := ns0ID(r.Source), ns0ID(r.Type), ns0ID(r.Target)
		e := edge{s.index.get(&source), s.index.get(&typ), s.index.get(&target)}
		if e.source == nil || e.target == nil || e.typ == nil || e.typ.class != classReferenceType {
			return fmt.Errorf("reference %d -%d-> %d names an unknown node", r.Source, r.Type, r.Target)
		}
		edges[i] = e
		degree[e.source]++
		degree[e.target]++
	}
	for n, d := range degree {
		if d > len(n.short) {
			n.refs.Store(newRefList(d))
		}
	}
	for _, first := range []bool{true, false} {
		for _, e := range edges {
			index := e.typ.refIndex()
			if (index == refHasTypeDefinition) != first {
				continue
			}
			if index == refHasSubtype {
				if err := s.setSupertype(e.target, e.source); err != nil {
					return fmt.Errorf("%v is no supertype of %v: %w", e.source.id, e.target.id, err)
				}
			}
			s.linkUnchecked(e.source, index<<1, e.target)
		}
	}
	return nil
}

// describe encodes what a Browse says of each node, all into one piece of memory.
func (l *loader) describe() {
	var all []byte
	ends := make([]int, len(l.nodes))
	for i, n := range l.nodes {
		row := &ns0.Nodes[i]
		name, display := ua.QualifiedName{Name: row.BrowseName}, ua.LocalizedText{Text: row.DisplayName}
		if display.Text == "" {
			display.Text = row.BrowseName
		}
		all = appendDescription(all, n, name, display, n.TypeDefinition())
		ends[i] = len(all)
	}
	text, start := description(all), 0
	for i, n := range l.nodes {
		n.described, start = text[start:ends[i]], ends[i]
	}
}

// fillIn decodes values and definitions, which need the type tree.
func (l *loader) fillIn() error {
	for i, n := range l.nodes {
		row := &ns0.Nodes[i]
		if row.Permissions != "" {
			if code := n.setPermissions(decodeVariant(row.Permissions)); code != ua.Good {
				return fmt.Errorf("role permissions of %v: %w", n.id, code)
			}
		}
		if row.Definition != "" {
			var x ua.ExtensionObject
			d := staticDecoder(row.Definition)
			x.DecodeFrom(d)
			if d.Err() != nil || x.Value == nil {
				return fmt.Errorf("definition of %v does not decode", n.id)
			}
			n.update(func(a *attrs) { a.definition, a.enum = x.Value, enumOf(x.Value) })
		}
		if n.class != classVariable && n.class != classVariableType {
			continue
		}
		if err := l.fillVariable(n, row); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) fillVariable(n *Node, row *ns0.Node) error {
	dataType := ns0ID(row.DataType)
	if dataType.IsNull() {
		dataType = ns0ID(id.BaseDataType)
	}
	dims, err := parseDimensions(row.Dims)
	if err != nil {
		return fmt.Errorf("dimensions of %v: %w", n.id, err)
	}
	sh := shape{dataType: l.space.index.get(&dataType), rank: row.ValueRank, dimensions: dims}
	if sh.dataType == nil || sh.dataType.class != classDataType {
		return fmt.Errorf("%v has the unknown data type %v", n.id, dataType)
	}
	var value ua.Variant
	if row.Value != "" {
		if value = decodeVariant(row.Value); value.IsNull() {
			return fmt.Errorf("value of %v does not decode", n.id)
		}
	}
	if n.class == classVariableType {
		n.update(func(a *attrs) {
			a.varType = &variableTypeAttrs{value: value, dataType: sh.dataType, valueRank: sh.rank, dimensions: dims}
		})
		return nil
	}
	spec := NodeSpec{
		AccessLevel: ua.AccessLevelExType(row.AccessLevel), Value: value, Dimensions: dims,
		SourceTimestamp: l.now, Historizing: row.Historizing,
	}
	if row.MinSampling > 0 {
		spec.MinimumSamplingInterval = new(row.MinSampling)
	}
	initVariable(n.Variable(), &spec, &sh)
	return nil
}

// staticDecoder reads from a constant of the program. What it decodes refers to
// the constant's memory, which is read-only like every stored value.
func staticDecoder(s string) *codec.Decoder {
	d := codec.NewDecoder(unsafe.Slice(unsafe.StringData(s), len(s)), nil)
	d.Alias(true)
	return d
}

// decodeVariant returns the null Variant for what does not decode.
func decodeVariant(s string) ua.Variant {
	var v ua.Variant
	d := staticDecoder(s)
	v.DecodeFrom(d)
	if d.Err() != nil {
		return ua.Variant{}
	}
	return v
}

func parseDimensions(s string) ([]uint32, error) {
	if s == "" {
		return nil, nil
	}
	var dims []uint32
	for part := range strings.SplitSeq(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(part), 10, 32)
		if err != nil {
			return nil, err
		}
		dims = append(dims, uint32(n))
	}
	return dims, nil
}
