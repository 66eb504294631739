package publishloop

import (
	"sync"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// semanticProperties are the properties that say what a value means. When one of
// them changes, the next notification of the value carries the SemanticsChanged
// bit (Part 8, 5.2 and 5.3).
var semanticProperties = map[string]bool{
	"EURange": true, "InstrumentRange": true, "EngineeringUnits": true, "Title": true,
	"TrueState": true, "FalseState": true, "EnumStrings": true, "EnumValues": true,
}

// semantics holds what is watched of monitored variables besides their values.
type semantics struct {
	mu sync.Mutex
	// Guarded by mu.
	watched map[*addrspace.Variable]*semantic
}

// semantic is the meaning of one variable, shared by all items that monitor it.
type semantic struct {
	properties []*property // guarded by semantics.mu

	mu sync.Mutex
	// Guarded by mu, which is a leaf but for the mutexes of the items.
	items map[*item]struct{}
}

// property watches one property.
type property struct {
	semantic *semantic
	variable *addrspace.Variable
	isRange  bool // the EURange
	started  bool
}

// follow begins to tell an item of changes of its variable's meaning. The
// subscription's mutex is held.
func (m *Manager) follow(it *item) {
	if it.node == nil || it.node.Variable() == nil || it.attribute != ua.AttributeIDValue || it.semantic != nil {
		return
	}
	properties := propertiesOf(it.node)
	if len(properties) == 0 {
		return
	}
	m.semantics.mu.Lock()
	defer m.semantics.mu.Unlock()
	sem := m.semantics.watched[it.node.Variable()]
	if sem == nil {
		sem = &semantic{items: make(map[*item]struct{}, 1)}
		m.semantics.watched[it.node.Variable()] = sem
		for _, n := range properties {
			p := &property{semantic: sem, variable: n.Variable(), isRange: n.BrowseName().Name == "EURange"}
			sem.properties = append(sem.properties, p)
		}
	}
	sem.mu.Lock()
	sem.items[it] = struct{}{}
	sem.mu.Unlock()
	it.semantic = sem
	for _, p := range sem.properties {
		if !p.started {
			p.started = true
			p.variable.Watch(p)
		}
	}
}

// unfollow ends what follow began.
func (m *Manager) unfollow(it *item) {
	sem := it.semantic
	if sem == nil {
		return
	}
	it.semantic = nil
	m.semantics.mu.Lock()
	defer m.semantics.mu.Unlock()
	sem.mu.Lock()
	delete(sem.items, it)
	last := len(sem.items) == 0
	sem.mu.Unlock()
	if !last {
		return
	}
	delete(m.semantics.watched, it.node.Variable())
	for _, p := range sem.properties {
		p.variable.Unwatch(p)
	}
}

// propertiesOf returns the properties of a node that say what its value means.
func propertiesOf(n *addrspace.Node) []*addrspace.Node {
	var properties []*addrspace.Node
	for _, r := range n.References().All() {
		if r.Inverse || r.Target.Variable() == nil || r.Type.ID() != hasProperty {
			continue
		}
		if name := r.Target.BrowseName(); name.NamespaceIndex == 0 && semanticProperties[name.Name] {
			properties = append(properties, r.Target)
		}
	}
	return properties
}

// ValueChanged implements [addrspace.Watcher] for a property.
func (p *property) ValueChanged(dv *ua.DataValue) {
	var limits *ua.Range
	if p.isRange {
		limits, _ = ua.As[*ua.Range](dv.Value)
	}
	p.semantic.mu.Lock()
	defer p.semantic.mu.Unlock()
	for it := range p.semantic.items {
		it.meaningChanged(limits)
	}
}

// NodeDeleted implements [addrspace.Watcher].
func (p *property) NodeDeleted() {}

// meaningChanged has the next notification of the item say so, and makes sure
// that there is one. A deadband that is a percentage of the range follows it.
func (it *item) meaningChanged(limits *ua.Range) {
	it.mu.Lock()
	defer it.mu.Unlock()
	if x := it.extra; x != nil && x.filter.relative && limits != nil {
		x.filter.setRange(*limits)
	}
	if it.closed || it.muted() || !it.hasLast || it.mode == ua.MonitoringModeDisabled {
		return
	}
	it.newMeaning = true
	if it.waiting() == 0 {
		it.repeat()
	}
}
