package attack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// element is one element of a where clause. An int is the index of another element,
// a string the name of a field, anything else a literal.
func element(operator ua.FilterOperator, operands ...any) ua.ContentFilterElement {
	e := ua.ContentFilterElement{FilterOperator: operator}
	for _, o := range operands {
		switch o := o.(type) {
		case int:
			e.FilterOperands = append(e.FilterOperands, ua.ObjectOf(&ua.ElementOperand{Index: uint32(o)}))
		case string:
			e.FilterOperands = append(e.FilterOperands, ua.ObjectOf(field(o)))
		case ua.Variant:
			e.FilterOperands = append(e.FilterOperands, ua.ObjectOf(&ua.LiteralOperand{Value: o}))
		}
	}
	return e
}

func field(name string) *ua.SimpleAttributeOperand {
	return &ua.SimpleAttributeOperand{
		TypeDefinitionID: ua.NumericID(0, id.BaseEventType), BrowsePath: []ua.QualifiedName{{Name: name}}, AttributeID: ua.AttributeIDValue,
	}
}

// Filters for events that contradict themselves, or are made to be expensive, are
// refused when the item is created or cost little at each event.
func TestThreat_V5_EventFilters(t *testing.T) {
	x := newTarget(t, onTCP)
	x.watch()
	m := measure()
	s := x.open().Session()
	sub := subscribe(s, 100)
	create := func(selects []ua.SimpleAttributeOperand, where []ua.ContentFilterElement) ua.StatusCode {
		t.Helper()
		r := ua.MonitoredItemCreateRequest{
			ItemToMonitor:  ua.ReadValueID{NodeID: ua.NumericID(0, id.Server), AttributeID: ua.AttributeIDEventNotifier},
			MonitoringMode: ua.MonitoringModeReporting,
			RequestedParameters: ua.MonitoringParameters{QueueSize: 10, Filter: ua.ObjectOf(&ua.EventFilter{
				SelectClauses: selects, WhereClause: ua.ContentFilter{Elements: where},
			})},
		}
		switch answer := s.Do(&ua.CreateMonitoredItemsRequest{SubscriptionID: sub, ItemsToCreate: []ua.MonitoredItemCreateRequest{r}}).(type) {
		case *ua.CreateMonitoredItemsResponse:
			return answer.Results[0].StatusCode
		case *ua.ServiceFault:
			return answer.ResponseHeader.ServiceResult
		default:
			t.Fatalf("%T", answer)
			return 0
		}
	}
	message := []ua.SimpleAttributeOperand{*field("Message")}
	literal := func(v any) ua.Variant { return x.variant(v) }
	chain := make([]ua.ContentFilterElement, 60_000)
	for i := range chain {
		chain[i] = element(ua.FilterOperatorAnd, i+1, i+1)
	}
	chain[len(chain)-1] = element(ua.FilterOperatorEquals, literal(true), literal(true))
	list := []any{"Severity"}
	for range 100_000 {
		list = append(list, literal(int32(1)))
	}
	path := *field("Message")
	path.BrowsePath = slices.Repeat([]ua.QualifiedName{{Name: "Message"}}, 10_000)
	const and, equals, not, like = ua.FilterOperatorAnd, ua.FilterOperatorEquals, ua.FilterOperatorNot, ua.FilterOperatorLike
	for name, c := range map[string]struct {
		selects []ua.SimpleAttributeOperand
		where   []ua.ContentFilterElement
	}{
		"itself":            {message, []ua.ContentFilterElement{element(and, 0, 0)}},
		"a cycle":           {message, []ua.ContentFilterElement{element(and, 1, 1), element(not, 0)}},
		"out of range":      {message, []ua.ContentFilterElement{element(not, 1)}},
		"far out of range":  {message, []ua.ContentFilterElement{element(not, 1<<32-1)}},
		"no operands":       {message, []ua.ContentFilterElement{element(and)}},
		"too many operands": {message, []ua.ContentFilterElement{element(equals, literal(true), literal(true), literal(true))}},
		"operator 99":       {message, []ua.ContentFilterElement{element(99, literal(true))}},
		"operator max":      {message, []ua.ContentFilterElement{element(1<<31-1, literal(true))}},
		"no such operand":   {message, []ua.ContentFilterElement{{FilterOperator: not, FilterOperands: []ua.ExtensionObject{ua.ObjectOf(&ua.Range{})}}}},
		"a chain":           {message, chain},
		"a list":            {message, []ua.ContentFilterElement{element(ua.FilterOperatorInList, list...)}},
		"a long pattern":    {message, []ua.ContentFilterElement{element(like, "Message", literal(strings.Repeat("%a", 30_000)))}},
		"no end":            {message, []ua.ContentFilterElement{element(like, "Message", literal("[a"))}},
		"nothing selected":  {nil, nil},
		"all selected":      {slices.Repeat(message, 20_000), nil},
		"a long path":       {[]ua.SimpleAttributeOperand{path}, nil},
		"a large literal":   {message, []ua.ContentFilterElement{element(equals, "Message", literal(strings.Repeat("x", 1_000_000)))}},
	} {
		start := time.Now()
		if code := create(c.selects, c.where); !code.IsBad() {
			t.Errorf("%s: %v", name, code)
		}
		if d := time.Since(start); d > 2*time.Second && !raceEnabled {
			t.Errorf("%s: refused after %v", name, d)
		}
	}
	if n := x.server.Stats().Subscriptions.MonitoredItems; n != canaryItems {
		t.Errorf("%d items of refused filters are left", n-canaryItems)
	}
	// What is accepted, and as bad as it may be: patterns that fit in as many ways as
	// possible, and conditions that lead to one another twice each.
	ways := make([]ua.ContentFilterElement, 240)
	for i := range ways {
		ways[i] = element(and, i+1, i+1)
	}
	ways[len(ways)-1] = element(like, "Message", literal(strings.Repeat("%a", 400)+"b"))
	for range 20 {
		if code := create(message, ways); code != ua.Good {
			t.Fatalf("the largest filter: %v", code)
		}
	}
	text := strings.Repeat("a", 100_000)
	start := time.Now()
	for range 20 {
		x.server.Report(events.Event{Message: ua.LocalizedText{Text: text}})
	}
	if code := s.Result(readState()); code != ua.Good {
		t.Error(code)
	}
	rawpeer.Do[*ua.DeleteSubscriptionsResponse](s, &ua.DeleteSubscriptionsRequest{SubscriptionIDs: []uint32{sub}})
	t.Logf("20 events for 20 filters were reported in %v", time.Since(start))
	if d := time.Since(start); d > 5*time.Second && !raceEnabled {
		t.Errorf("20 events for 20 filters were reported in %v", d)
	}
	m.check(t, 150, 20)
}
