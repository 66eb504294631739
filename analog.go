package uahive

import (
	"fmt"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// EURange is the range of values in normal operation (Part 8, 5.6.2). It makes
// the variable an AnalogItem, lets clients draw it to scale, and is what a
// percent deadband is a percentage of. It is for numbers and arrays of numbers;
// low is below high.
func EURange(low, high float64) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.suggested, s.numeric = id.AnalogItemType, "EURange"
		s.rangeProperty("EURange", low, high)
	})
}

// InstrumentRange is all that the instrument can deliver, errors excepted (Part
// 8, 5.3.2). It is for numbers; low is below high.
func InstrumentRange(low, high float64) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.analog("InstrumentRange")
		s.rangeProperty("InstrumentRange", low, high)
	})
}

// EngineeringUnits says in which unit a number is, with one of the units below
// or [Unit]. Without an [EURange] the variable becomes an AnalogUnit (Part 8,
// 5.3.2.5).
func EngineeringUnits(unit ua.EUInformation) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.analog("EngineeringUnits")
		if wrong := wrongUnit(&unit); wrong != nil {
			s.mistake(wrong.problem, wrong.instead)
		}
		s.property("EngineeringUnits", &unit)
	})
}

// ValuePrecision is the number of digits behind the decimal point that mean
// something (Part 8, 5.3.1).
func ValuePrecision(digits float64) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.numeric = "ValuePrecision"
		if s.suggested == 0 {
			s.suggested = id.DataItemType
		}
		s.properties = append(s.properties, property{"ValuePrecision", ua.DoubleVariant(digits)})
	})
}

// EnumStrings names the values 0, 1, 2, ... of an unsigned integer, which
// becomes a MultiStateDiscrete (Part 8, 5.3.3.3). There is at least one name, and
// the first value has one. Clients cannot write values without a name
// (BadOutOfRange). For a Go type of its own with named values see
// [AddEnumeration].
func EnumStrings(names ...string) VariableOption {
	texts := make([]ua.LocalizedText, len(names))
	for i, name := range names {
		texts[i] = ua.LocalizedText{Text: name}
	}
	return variableOption(func(s *variableSpec) {
		s.suggested, s.states, s.names = id.MultiStateDiscreteType, "EnumStrings", len(names)
		if len(names) == 0 {
			s.mistake("EnumStrings without names", "name the values 0, 1, 2, ...")
		}
		s.properties = append(s.properties, property{"EnumStrings", ua.SliceVariant(texts)})
	})
}

// StateNames names the two values of a bool, which becomes a TwoStateDiscrete
// (Part 8, 5.3.3.2).
func StateNames(whenFalse, whenTrue string) VariableOption {
	return variableOption(func(s *variableSpec) {
		s.suggested, s.states = id.TwoStateDiscreteType, "StateNames"
		s.properties = append(s.properties,
			property{"FalseState", ua.VariantOf(ua.LocalizedText{Text: whenFalse})},
			property{"TrueState", ua.VariantOf(ua.LocalizedText{Text: whenTrue})})
	})
}

func (s *variableSpec) property(name string, value ua.Structure) {
	s.properties = append(s.properties, property{name, ua.VariantOf(ua.ObjectOf(value))})
}

func (s *variableSpec) rangeProperty(name string, low, high float64) {
	if wrong := wrongRange(name, low, high); wrong != nil {
		s.mistake(wrong.problem, wrong.instead)
	}
	s.property(name, &ua.Range{Low: low, High: high})
}

// wrongRange returns what is wrong with a range, nil if it is one.
func wrongRange(name string, low, high float64) *mistake {
	if low < high {
		return nil // false for NaN
	}
	return &mistake{fmt.Sprintf("%s(%v, %v)", name, low, high), "give the lower end first, and a higher one"}
}

// analog makes the variable an analog one, of the type without a range unless
// EURange came first; EURange sets its type whenever it comes.
func (s *variableSpec) analog(option string) {
	s.numeric = option
	switch {
	case s.suggested == id.AnalogItemType:
	case option == "EngineeringUnits":
		s.suggested = id.AnalogUnitType
	case s.suggested != id.AnalogUnitType:
		s.suggested = id.BaseAnalogType
	}
}

// unece is the namespace of units whose ids are made from the codes of UN/ECE
// Recommendation 20 (Part 8, 5.6.4.3).
const unece = "http://www.opcfoundation.org/UA/units/un/cefact"

// noUnit is the id of what has no id (Part 8, 5.6.4.3).
const noUnit = -1

// wrongUnit returns what is wrong with a unit, nil if it is one.
func wrongUnit(unit *ua.EUInformation) *mistake {
	if unit.NamespaceURI != unece || unit.UnitID > 0 {
		return nil
	}
	return &mistake{
		fmt.Sprintf("no common code for the unit %q", unit.DisplayName.Text),
		`give Unit a code of UN/ECE Recommendation 20, like "CEL", or fill a ua.EUInformation with a NamespaceURI of your own`,
	}
}

// Unit describes an engineering unit by its common code of UN/ECE Recommendation
// 20, as "CEL" for degrees Celsius, its symbol and its name. Common codes have one
// to three characters, which are capital letters and digits; [EngineeringUnits]
// refuses others. For a unit that has none, fill a ua.EUInformation with a
// NamespaceURI of your own.
func Unit(code, symbol, name string) ua.EUInformation {
	unitID := int32(0)
	for _, c := range []byte(code) {
		unitID = unitID<<8 | int32(c)
		if c < '0' || c > '9' && c < 'A' || c > 'Z' || unitID > 1<<24 {
			unitID = noUnit
			break
		}
	}
	if unitID == 0 {
		unitID = noUnit
	}
	return ua.EUInformation{
		NamespaceURI: unece, UnitID: unitID,
		DisplayName: ua.LocalizedText{Text: symbol}, Description: ua.LocalizedText{Text: name},
	}
}

// Units that most plants have.
var (
	Celsius           = Unit("CEL", "°C", "degree Celsius")
	Kelvin            = Unit("KEL", "K", "kelvin")
	Bar               = Unit("BAR", "bar", "bar")
	Pascal            = Unit("PAL", "Pa", "pascal")
	Percent           = Unit("P1", "%", "percent")
	Metre             = Unit("MTR", "m", "metre")
	Millimetre        = Unit("MMT", "mm", "millimetre")
	MetrePerSecond    = Unit("MTS", "m/s", "metre per second")
	RevolutionsPerMin = Unit("RPM", "r/min", "revolutions per minute")
	Hertz             = Unit("HTZ", "Hz", "hertz")
	Second            = Unit("SEC", "s", "second")
	Kilogram          = Unit("KGM", "kg", "kilogram")
	Litre             = Unit("LTR", "l", "litre")
	Volt              = Unit("VLT", "V", "volt")
	Ampere            = Unit("AMP", "A", "ampere")
	Watt              = Unit("WTT", "W", "watt")
	Kilowatt          = Unit("KWT", "kW", "kilowatt")
	KilowattHour      = Unit("KWH", "kW⋅h", "kilowatt hour")
	Newton            = Unit("NEW", "N", "newton")
	Kilonewton        = Unit("B47", "kN", "kilonewton")
)

// unfit says why options do not suit the Go type of a variable, "" if they do.
func (s *variableSpec) unfit(f *form) string {
	switch {
	case s.numeric != "" && !isNumber(f.builtin):
		return fmt.Sprintf("%s is for numbers", s.numeric)
	case s.states == "EnumStrings" && !isUnsigned(f.builtin):
		return "EnumStrings is for unsigned integers (AddEnumeration makes an enumeration of an int32)"
	case s.states == "StateNames" && f.builtin != ua.TypeBoolean:
		return "StateNames is for a bool"
	}
	return ""
}

func isNumber(t ua.TypeID) bool { return t >= ua.TypeSByte && t <= ua.TypeDouble }

func isUnsigned(t ua.TypeID) bool {
	return t == ua.TypeByte || t == ua.TypeUInt16 || t == ua.TypeUInt32 || t == ua.TypeUInt64
}
