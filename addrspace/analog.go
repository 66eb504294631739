package addrspace

import "github.com/uahive/uahive/codec/ua"

// EURange returns the value of the variable's EURange property (Part 8, 5.3.2):
// the range that a percent deadband is a percentage of.
func (v *Variable) EURange() (ua.Range, bool) { return v.rangeProperty("EURange") }

// InstrumentRange returns the value of the variable's InstrumentRange property:
// all that the instrument can deliver.
func (v *Variable) InstrumentRange() (ua.Range, bool) { return v.rangeProperty("InstrumentRange") }

func (v *Variable) rangeProperty(name string) (ua.Range, bool) {
	p := v.node.Property(name)
	if p == nil || p.Variable() == nil {
		return ua.Range{}, false
	}
	r, ok := ua.As[*ua.Range](p.Variable().Load().Value)
	if !ok || r == nil {
		return ua.Range{}, false
	}
	return *r, true
}
