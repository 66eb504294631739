package events

import (
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// newSpace returns the standard's nodes.
func newSpace(t testing.TB) *addrspace.Space {
	t.Helper()
	space := addrspace.New(addrspace.Options{})
	if err := space.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	return space
}

// field returns the operand for a field of BaseEventType, or of any type by its name.
func field(path ...string) *ua.SimpleAttributeOperand {
	o := &ua.SimpleAttributeOperand{TypeDefinitionID: baseEventType, AttributeID: ua.AttributeIDValue}
	for _, name := range path {
		o.BrowsePath = append(o.BrowsePath, ua.QualifiedName{Name: name})
	}
	return o
}

func of(typ uint32, o *ua.SimpleAttributeOperand) *ua.SimpleAttributeOperand {
	o.TypeDefinitionID = ua.NumericID(0, typ)
	return o
}

// el makes an element: operands are operands, or values for literals.
func el(operator ua.FilterOperator, operands ...any) ua.ContentFilterElement {
	e := ua.ContentFilterElement{FilterOperator: operator}
	for _, o := range operands {
		s, ok := o.(ua.Structure)
		if !ok {
			v, isVariant := o.(ua.Variant)
			if !isVariant && o != nil {
				var err error
				if v, err = ua.ValueOf(o); err != nil {
					panic(err)
				}
			}
			s = &ua.LiteralOperand{Value: v}
		}
		e.FilterOperands = append(e.FilterOperands, ua.ObjectOf(s))
	}
	return e
}

func ref(i uint32) *ua.ElementOperand { return &ua.ElementOperand{Index: i} }

func where(elements ...ua.ContentFilterElement) *ua.EventFilter {
	return &ua.EventFilter{
		SelectClauses: []ua.SimpleAttributeOperand{*field("EventId")}, WhereClause: ua.ContentFilter{Elements: elements},
	}
}

// anEvent is a write of a value, as it is audited.
func anEvent() *Event {
	e := &Event{
		Type: ua.NumericID(0, id.AuditWriteUpdateEventType), SourceNode: ua.NumericID(0, id.Server), SourceName: "Attribute/Write",
		Message: ua.LocalizedText{Locale: "en", Text: "Value written"}, Severity: 400,
		Fields: []Field{
			FieldOf("Status", ua.BooleanVariant(true)),
			FieldOf("ClientUserId", ua.StringVariant("operator7")),
			FieldOf("AttributeId", ua.UInt32Variant(13)),
			FieldOf("NewValue", ua.SliceVariant([]int32{4, 5, 6})),
			FieldOf("OldValue", ua.VariantOf(ua.BadUserAccessDenied)),
		},
	}
	e.Complete(ua.DateTimeOf(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)))
	return e
}

// TestOperators is Part 4, 7.7.3, one line after the other.
func TestOperators(t *testing.T) {
	t.Parallel()
	const (
		eq, null, gt, lt = ua.FilterOperatorEquals, ua.FilterOperatorIsNull, ua.FilterOperatorGreaterThan, ua.FilterOperatorLessThan
		ge, le           = ua.FilterOperatorGreaterThanOrEqual, ua.FilterOperatorLessThanOrEqual
		like, not        = ua.FilterOperatorLike, ua.FilterOperatorNot
		between, in      = ua.FilterOperatorBetween, ua.FilterOperatorInList
		and, or          = ua.FilterOperatorAnd, ua.FilterOperatorOr
		cast, ofType     = ua.FilterOperatorCast, ua.FilterOperatorOfType
		bitAnd, bitOr    = ua.FilterOperatorBitwiseAnd, ua.FilterOperatorBitwiseOr
	)
	severity, user := field("Severity"), field("ClientUserId")
	missing := field("ServerUri") // of another type of audit events
	yes, no, unknown := true, false, missing
	typeID := func(n uint32) ua.NodeID { return ua.NumericID(0, n) }
	type elements = []ua.ContentFilterElement
	tests := map[string]struct {
		clause elements
		want   bool
	}{
		"no clause":                          {nil, true},
		"equal":                              {elements{el(eq, severity, uint16(400))}, true},
		"not equal":                          {elements{el(eq, severity, uint16(401))}, false},
		"equal after conversion":             {elements{el(eq, severity, int64(400))}, true},
		"equal to a double":                  {elements{el(eq, 400.0, severity)}, true},
		"equal to text":                      {elements{el(eq, severity, "400")}, true},
		"text that is no number":             {elements{el(eq, severity, "4e")}, false},
		"negative and unsigned":              {elements{el(eq, uint64(18446744073709551615), int32(-1))}, false},
		"case counts":                        {elements{el(eq, user, "Operator7")}, false},
		"localized text and text":            {elements{el(eq, field("Message"), "Value written")}, true},
		"no common type":                     {elements{el(eq, field("Time"), severity)}, false},
		"null is not equal":                  {elements{el(eq, missing, "")}, false},
		"two nulls":                          {elements{el(eq, missing, nil)}, true},
		"array of one":                       {elements{el(eq, []int32{400}, severity)}, true},
		"arrays":                             {elements{el(eq, field("NewValue"), []int32{4, 5, 6})}, true},
		"other array":                        {elements{el(eq, field("NewValue"), []int32{4, 5})}, false},
		"node ids":                           {elements{el(eq, field("EventType"), typeID(id.AuditWriteUpdateEventType))}, true},
		"expanded node id":                   {elements{el(eq, field("EventType"), typeID(id.AuditWriteUpdateEventType).Expanded())}, true},
		"NaN":                                {elements{el(eq, "NaN", el64nan())}, false},
		"null":                               {elements{el(null, missing)}, true},
		"not null":                           {elements{el(null, user)}, false},
		"a status in place of a value":       {elements{el(null, field("OldValue"))}, true},
		"greater":                            {elements{el(gt, severity, uint16(399))}, true},
		"not greater":                        {elements{el(gt, severity, uint16(400))}, false},
		"greater than null":                  {elements{el(gt, severity, nil)}, false},
		"less":                               {elements{el(lt, severity, 400.5)}, true},
		"not less":                           {elements{el(lt, severity, 400)}, false},
		"greater or equal":                   {elements{el(ge, severity, 400)}, true},
		"less or equal":                      {elements{el(le, severity, 399)}, false},
		"times":                              {elements{el(lt, field("Time"), ua.DateTimeOf(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)))}, true},
		"texts have an order":                {elements{el(gt, user, "operator6")}, true},
		"node ids have none":                 {elements{el(ge, field("EventType"), field("EventType"))}, false},
		"like":                               {elements{el(like, user, "op%[6-8]")}, true},
		"not like":                           {elements{el(like, user, "op%[^6-8]")}, false},
		"like a localized text":              {elements{el(like, field("Message"), "Value _ritten")}, true},
		"a number is not like":               {elements{el(like, severity, "%")}, false},
		"like nothing":                       {elements{el(like, missing, "%")}, false},
		"a pattern that is made":             {elements{el(like, user, ref(1)), el(cast, "op%", typeID(id.String))}, true},
		"not":                                {elements{el(not, no)}, true},
		"not true":                           {elements{el(not, yes)}, false},
		"not null is null":                   {elements{el(not, unknown)}, false},
		"not of a text":                      {elements{el(not, "false")}, true},
		"not of a number":                    {elements{el(not, 0)}, false},
		"between":                            {elements{el(between, severity, 400, 400)}, true},
		"not between":                        {elements{el(between, severity, 401, 500)}, false},
		"between null":                       {elements{el(between, severity, nil, 500)}, false},
		"in list":                            {elements{el(in, severity, "x", 1, 400)}, true},
		"not in list":                        {elements{el(in, severity, 1, 2, 3)}, false},
		"and":                                {elements{el(and, yes, yes)}, true},
		"and false":                          {elements{el(and, yes, no)}, false},
		"and null":                           {elements{el(and, yes, unknown)}, false},
		"false and null is false":            {elements{el(not, ref(1)), el(and, no, unknown)}, true},
		"null and false is false":            {elements{el(not, ref(1)), el(and, unknown, no)}, true},
		"null and true is null":              {elements{el(not, ref(1)), el(and, unknown, yes)}, false},
		"true or null":                       {elements{el(or, yes, unknown)}, true},
		"null or false is null":              {elements{el(not, ref(1)), el(or, unknown, no)}, false},
		"true and null is null":              {elements{el(not, ref(1)), el(and, yes, unknown)}, false},
		"or":                                 {elements{el(or, no, yes)}, true},
		"or false":                           {elements{el(or, no, no)}, false},
		"true or null is true":               {elements{el(or, unknown, yes)}, true},
		"false or null is null":              {elements{el(not, ref(1)), el(or, no, unknown)}, false},
		"cast":                               {elements{el(eq, ref(1), "400"), el(cast, severity, typeID(id.String))}, true},
		"cast rounds":                        {elements{el(eq, ref(1), 3), el(cast, 2.5, typeID(id.Int32))}, true},
		"cast that fails is null":            {elements{el(null, ref(1)), el(cast, 300, typeID(id.Byte))}, true},
		"cast to a subtype":                  {elements{el(eq, ref(1), 2.0), el(cast, "2", typeID(id.Duration))}, true},
		"cast to a boolean":                  {elements{el(cast, severity, typeID(id.Boolean))}, true},
		"of type":                            {elements{el(ofType, typeID(id.AuditEventType))}, true},
		"of its own type":                    {elements{el(ofType, typeID(id.AuditWriteUpdateEventType))}, true},
		"of another type":                    {elements{el(ofType, typeID(id.SystemEventType))}, false},
		"bits":                               {elements{el(eq, ref(1), 16), el(bitAnd, severity, uint32(0x1f))}, true},
		"more bits":                          {elements{el(eq, ref(1), 0x191), el(bitOr, severity, uint8(1))}, true},
		"bits of no integer":                 {elements{el(null, ref(1)), el(bitAnd, severity, 1.0)}, true},
		"an element that nothing leads to":   {elements{el(eq, 1, 1), el(eq, 1, 2)}, true},
		"two ways to one element":            {elements{el(and, ref(1), ref(2)), el(or, ref(2), no), el(eq, severity, 400)}, true},
		"a text as Boolean":                  {elements{el(cast, "TRUE", typeID(id.Boolean))}, true},
		"a field of a type the event is not": {elements{el(null, of(id.AuditOpenSecureChannelEventType, field("ClientUserId")))}, true},
		"an element of an array":             {elements{el(eq, ranged(field("NewValue"), "1"), 5)}, true},
		"beyond the array":                   {elements{el(null, ranged(field("NewValue"), "7"))}, true},
	}
	space := newSpace(t)
	e := anEvent()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, result, code := Compile(space, where(test.clause...), Limits{}.WithDefaults())
			if code != ua.Good || result != nil {
				t.Fatalf("refused: %v, %+v", code, result)
			}
			if got := f.Matches(e); got != test.want {
				t.Errorf("passes: %v, want %v", got, test.want)
			}
		})
	}
}

func el64nan() float64 { var zero float64; return zero / zero }

func ranged(o *ua.SimpleAttributeOperand, r string) *ua.SimpleAttributeOperand {
	o.IndexRange = r
	return o
}

// TestSelectClauses: what is wrong for all events is said (Part 4, 7.22.3, Table of
// EventFilterResult), and leaves a null in its place; what only some events have is null
// in the others.
func TestSelectClauses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		clause *ua.SimpleAttributeOperand
		code   ua.StatusCode
		value  ua.Variant
	}{
		"a field of all events":     {field("Severity"), ua.Good, ua.VariantOf(uint16(400))},
		"by the type itself":        {of(id.AuditWriteUpdateEventType, field("Severity")), ua.Good, ua.VariantOf(uint16(400))},
		"a field of one type":       {of(id.AuditWriteUpdateEventType, field("AttributeId")), ua.Good, ua.UInt32Variant(13)},
		"the same from the base":    {field("AttributeId"), ua.Good, ua.UInt32Variant(13)},
		"a field of another type":   {of(id.AuditCreateSessionEventType, field("ClientCertificate")), ua.Good, ua.Variant{}},
		"left out of the event":     {field("ServerId"), ua.Good, ua.Variant{}},
		"a path below an object":    {of(id.AcknowledgeableConditionType, field("AckedState", "Id")), ua.Good, ua.Variant{}},
		"the node of a condition":   {&ua.SimpleAttributeOperand{TypeDefinitionID: ua.NumericID(0, id.ConditionType), AttributeID: ua.AttributeIDNodeID}, ua.Good, ua.Variant{}},
		"part of an array":          {ranged(field("NewValue"), "0:1"), ua.Good, ua.SliceVariant([]int32{4, 5})},
		"part that is not there":    {ranged(field("NewValue"), "5"), ua.Good, ua.VariantOf(ua.BadIndexRangeNoData)},
		"no type":                   {&ua.SimpleAttributeOperand{BrowsePath: []ua.QualifiedName{{Name: "Time"}}, AttributeID: ua.AttributeIDValue}, ua.BadTypeDefinitionInvalid, ua.Variant{}},
		"unknown type":              {of(99_999_999, field("Time")), ua.BadTypeDefinitionInvalid, ua.Variant{}},
		"type of other things":      {of(id.FolderType, field("Time")), ua.BadTypeDefinitionInvalid, ua.Variant{}},
		"never in any event":        {field("NoSuchField"), ua.BadNodeIDUnknown, ua.Variant{}},
		"never in events of a type": {of(id.AuditWriteUpdateEventType, field("ClientCertificate")), ua.BadNodeIDUnknown, ua.Variant{}},
		"null in the path":          {field("AckedState", ""), ua.BadBrowseNameInvalid, ua.Variant{}},
		"attribute of a variable":   {&ua.SimpleAttributeOperand{TypeDefinitionID: baseEventType, BrowsePath: field("Time").BrowsePath, AttributeID: ua.AttributeIDNodeID}, ua.BadAttributeIDInvalid, ua.Variant{}},
		"value of the event":        {field(), ua.BadAttributeIDInvalid, ua.Variant{}},
		"no index range":            {ranged(field("NewValue"), "x"), ua.BadIndexRangeInvalid, ua.Variant{}},
		"never an array":            {ranged(field("Severity"), "0"), ua.BadTypeMismatch, ua.Variant{}},
	}
	space := newSpace(t)
	e := anEvent()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := &ua.EventFilter{SelectClauses: []ua.SimpleAttributeOperand{*field("EventId"), *test.clause}}
			f, result, code := Compile(space, in, Limits{}.WithDefaults())
			if code != ua.Good {
				t.Fatal(code)
			}
			got := ua.Good
			if result != nil {
				got = result.SelectClauseResults[1]
			}
			if got != test.code {
				t.Errorf("result %v, want %v", got, test.code)
			}
			d := codec.NewDecoder(f.AppendFields(nil, e, 1<<20), nil)
			list := decodeFields(d)
			if d.Err() != nil || len(list) != 2 || !list[1].Equal(test.value) {
				t.Errorf("fields %v, want %v; %v", list, test.value, d.Err())
			}
		})
	}
}

func decodeFields(d *codec.Decoder) []ua.Variant {
	n := d.Uint32()
	list := make([]ua.Variant, 0, 4)
	for range n {
		if d.Err() != nil {
			break
		}
		var v ua.Variant
		v.DecodeFrom(d)
		list = append(list, v)
	}
	return list
}

// TestThreat_V5_EventFilter: structural errors, and those that are true for all events, are
// reported for the element and the operand, and the filter is refused (Part 4, 7.7 and
// 7.22.3; threats.md V5).
func TestThreat_V5_EventFilter(t *testing.T) {
	t.Parallel()
	const eq = ua.FilterOperatorEquals
	deep := make([]ua.ContentFilterElement, 0, 400)
	for i := range uint32(249) {
		deep = append(deep, el(ua.FilterOperatorAnd, ref(i+1), ref(i+1)))
	}
	deep = append(deep, el(eq, 1, 1))
	long := make([]any, 5000)
	for i := range long {
		long[i] = i
	}
	tests := map[string]struct {
		clause           []ua.ContentFilterElement
		code             ua.StatusCode
		element, operand ua.StatusCode
	}{
		"too few":            {[]ua.ContentFilterElement{el(eq, 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperandCountMismatch, ua.Good},
		"too many":           {[]ua.ContentFilterElement{el(ua.FilterOperatorNot, true, true)}, ua.BadEventFilterInvalid, ua.BadFilterOperandCountMismatch, ua.Good},
		"none":               {[]ua.ContentFilterElement{el(ua.FilterOperatorInList)}, ua.BadEventFilterInvalid, ua.BadFilterOperandCountMismatch, ua.Good},
		"no operator":        {[]ua.ContentFilterElement{el(18, 1, 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperatorInvalid, ua.Good},
		"negative operator":  {[]ua.ContentFilterElement{el(-1, 1, 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperatorInvalid, ua.Good},
		"InView":             {[]ua.ContentFilterElement{el(ua.FilterOperatorInView, 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperatorUnsupported, ua.Good},
		"RelatedTo":          {[]ua.ContentFilterElement{el(ua.FilterOperatorRelatedTo, 1, 1, 1, 1, 1, 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperatorUnsupported, ua.Good},
		"itself":             {[]ua.ContentFilterElement{el(eq, ref(0), 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadFilterElementInvalid},
		"out of range":       {[]ua.ContentFilterElement{el(eq, ref(1), 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadFilterElementInvalid},
		"far out of range":   {[]ua.ContentFilterElement{el(eq, ref(1<<31), 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadFilterElementInvalid},
		"AttributeOperand":   {[]ua.ContentFilterElement{el(eq, &ua.AttributeOperand{NodeID: baseEventType}, 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadFilterOperandInvalid},
		"no operand at all":  {[]ua.ContentFilterElement{el(eq, &ua.Range{}, 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadFilterOperandInvalid},
		"null operand":       {[]ua.ContentFilterElement{{FilterOperator: eq, FilterOperands: make([]ua.ExtensionObject, 2)}}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadFilterOperandInvalid},
		"unknown field":      {[]ua.ContentFilterElement{el(eq, field("NoSuchField"), 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadNodeIDUnknown},
		"unknown type":       {[]ua.ContentFilterElement{el(ua.FilterOperatorOfType, ua.NumericID(0, 99_999_999))}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadNodeIDUnknown},
		"no type":            {[]ua.ContentFilterElement{el(ua.FilterOperatorOfType, ua.NumericID(0, id.Server))}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadNotTypeDefinition},
		"type by its name":   {[]ua.ContentFilterElement{el(ua.FilterOperatorOfType, 5)}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadFilterOperandInvalid},
		"endless pattern":    {[]ua.ContentFilterElement{el(ua.FilterOperatorLike, "[abc", "[abc")}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.Good},
		"large literal":      {[]ua.ContentFilterElement{el(eq, strings.Repeat("x", 1<<17), 1)}, ua.BadEventFilterInvalid, ua.BadFilterOperandInvalid, ua.BadFilterLiteralInvalid},
		"large list":         {[]ua.ContentFilterElement{el(ua.FilterOperatorInList, long...)}, ua.BadMonitoredItemFilterUnsupported, ua.Good, ua.Good},
		"many ways in depth": {deep, ua.Good, ua.Good, ua.Good}, // would be 2^249 if each way were gone
	}
	space := newSpace(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, result, code := Compile(space, where(test.clause...), Limits{}.WithDefaults())
			if code != test.code {
				t.Fatalf("%v, want %v", code, test.code)
			}
			if code == ua.Good {
				if !f.Matches(anEvent()) {
					t.Error("does not pass")
				}
				return
			}
			if test.element == ua.Good {
				return
			}
			r := result.WhereClauseResult.ElementResults[0]
			if r.StatusCode != test.element {
				t.Errorf("element %v, want %v", r.StatusCode, test.element)
			}
			if test.operand != ua.Good && r.OperandStatusCodes[0] != test.operand {
				t.Errorf("operand %v, want %v", r.OperandStatusCodes[0], test.operand)
			}
		})
	}
	if _, _, code := Compile(space, &ua.EventFilter{}, Limits{}.WithDefaults()); code != ua.BadEventFilterInvalid {
		t.Errorf("no select clause: %v", code)
	}
	none := &ua.EventFilter{SelectClauses: []ua.SimpleAttributeOperand{*field("No"), *field("Neither")}}
	if _, r, code := Compile(space, none, Limits{}.WithDefaults()); code != ua.BadEventFilterInvalid || len(r.SelectClauseResults) != 2 {
		t.Errorf("no good select clause: %v, %+v", code, r)
	}
}

// TestLargeFieldsGiveWay: what would not fit into a message is replaced by a status.
func TestLargeFieldsGiveWay(t *testing.T) {
	t.Parallel()
	space := newSpace(t)
	e := anEvent()
	e.Fields[1].Value = ua.StringVariant(strings.Repeat("u", 5000))
	f, _, code := Compile(space, &ua.EventFilter{SelectClauses: []ua.SimpleAttributeOperand{*field("ClientUserId"), *field("Severity")}}, Limits{}.WithDefaults())
	if code != ua.Good {
		t.Fatal(code)
	}
	list := decodeFields(codec.NewDecoder(f.AppendFields(nil, e, 1000), nil))
	if c, ok := ua.As[ua.StatusCode](list[0]); !ok || c != ua.BadEncodingLimitsExceeded {
		t.Errorf("large field: %v", list[0])
	}
	if s, ok := ua.As[uint16](list[1]); !ok || s != 400 {
		t.Errorf("field behind it: %v", list[1])
	}
}

// TestLike is the table of wildcards (Part 4, 7.7.3).
func TestLike(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"main%", "main", true},
		{"main%", "mains", true},
		{"%main", "the main", true},
		{"%main%", "no man", false},
		{"a%b%c", "abbcbc", true},
		{"a%b%c", "abbcbd", false},
		{"_", "ä", true},
		{"_", "ab", false},
		{"5\\_%", "5_x", true},
		{"5\\_%", "55x", false},
		{"abc[13-68]%", "abc5x", true},
		{"abc[13-68]%", "abc2x", false},
		{"xyz[^dgh]%", "xyzaa", true},
		{"xyz[^dgh]%", "xyzda", false},
		{"[a\\]]", "]", true},
		{"[a-]", "-", true},
		{"%%%%a", "bba", true},
		{"[z-a]", "m", false},
	} {
		p, ok := parsePattern(test.pattern)
		if !ok {
			t.Errorf("%q is no pattern", test.pattern)
			continue
		}
		if got := p.matches(test.text); got != test.want {
			t.Errorf("%q like %q: %v", test.text, test.pattern, got)
		}
	}
	for _, s := range []string{"[", "[a", "[^", "[a-", "[\\", "x\\", strings.Repeat("a", 1001), strings.Repeat("ab%", 100_000)} {
		if _, ok := parsePattern(s); ok {
			t.Errorf("%.10q is a pattern", s)
		}
	}
	// A pattern that backtracking would never finish ends soon (threats.md V5).
	p, _ := parsePattern(strings.Repeat("%a", 300) + "b")
	start := time.Now()
	if p.matches(strings.Repeat("a", 1<<20)) {
		t.Error("passes")
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestCompleteEvent: what is left out has its default, and ids are different.
func TestCompleteEvent(t *testing.T) {
	t.Parallel()
	a, b := &Event{Severity: 2000}, &Event{Time: 5, Type: ua.NumericID(0, id.SystemEventType), ID: []byte("own")}
	a.Complete(7)
	b.Complete(7)
	if len(a.ID) != 16 || a.Type != baseEventType || a.Time != 7 || a.ReceiveTime != 7 || a.Severity != 1000 || a.Size() < 256 {
		t.Errorf("%+v", a)
	}
	if string(b.ID) != "own" || b.Time != 5 || b.ReceiveTime != 7 || b.Severity != 1 || b.Type.Numeric() != id.SystemEventType {
		t.Errorf("%+v", b)
	}
	c := new(Event)
	c.Complete(7)
	if string(a.ID) == string(c.ID) {
		t.Error("two events have one id")
	}
	if v := anEvent().Value([]ua.QualifiedName{{Name: "ClientUserId"}}); !v.Equal(ua.StringVariant("operator7")) {
		t.Errorf("field %v", v)
	}
}

// TestMatchingIsCheap: a filter as clients use it allocates nothing.
func TestMatchingIsCheap(t *testing.T) {
	f, _, code := Compile(newSpace(t), where(
		el(ua.FilterOperatorAnd, ref(1), ref(2)),
		el(ua.FilterOperatorOfType, ua.NumericID(0, id.AuditEventType)),
		el(ua.FilterOperatorGreaterThanOrEqual, field("Severity"), uint16(100)),
	), Limits{}.WithDefaults())
	if code != ua.Good {
		t.Fatal(code)
	}
	e := anEvent()
	dst := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() {
		if !f.Matches(e) {
			t.Fatal("does not pass")
		}
		dst = f.AppendFields(dst[:0], e, 1<<20)
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
