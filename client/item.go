package client

import (
	"context"
	"slices"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// MonitorItem says what to watch. Only Node is needed.
type MonitorItem struct {
	Node ua.NodeID
	// Attribute to watch. Default: the value. Events are those of
	// AttributeIDEventNotifier with an EventFilter.
	Attribute ua.AttributeID
	// IndexRange selects a part of an array, as in "0:9".
	IndexRange string
	// Sampling is how often the server looks at the value. Default: the
	// publishing interval; negative: as often as it can.
	Sampling time.Duration
	// Queue is the number of values that the server keeps between two
	// publishings. Default 1.
	Queue uint32
	// DiscardNewest keeps the oldest values when the queue is full.
	DiscardNewest bool
	// Mode of the item. Default (and zero): reporting.
	Mode ua.MonitoringMode
	// Filter is nil, a DataChangeFilter, an AggregateFilter or an EventFilter.
	Filter ua.Structure
	// OnChange gets the changes of this item. Default: see [Subscription.Monitor].
	OnChange func(Change)
	// Tag is the caller's own, to be found again in Item.Tag.
	Tag any
}

// Value watches the value of a node.
func Value(node ua.NodeID) MonitorItem { return MonitorItem{Node: node} }

// Change is a new value of a monitored item, or an event.
type Change struct {
	Item  *Item
	Value ua.DataValue
	// Fields are those of an event, in the order of the filter's select
	// clauses; nil for values.
	Fields []ua.Variant
}

// Item is a monitored item.
type Item struct {
	// Tag is the caller's own, from MonitorItem.
	Tag any

	// Immutable.
	sub    *Subscription
	handle uint32

	// Guarded by sub.mu.
	spec     MonitorItem
	disabled bool // by SetMode; 0 in spec.Mode means the default
	id       uint32
	status   ua.StatusCode
	sampling time.Duration
	queue    uint32
}

// Subscription returns the subscription of the item.
func (it *Item) Subscription() *Subscription { return it.sub }

// Node returns the node that is watched.
func (it *Item) Node() ua.NodeID {
	it.sub.mu.Lock()
	defer it.sub.mu.Unlock()
	return it.spec.Node
}

// Status tells whether the server accepted the item. A refused one receives
// nothing.
func (it *Item) Status() ua.StatusCode {
	it.sub.mu.Lock()
	defer it.sub.mu.Unlock()
	return it.status
}

// ID is the server's id of the item, which changes when the subscription had
// to be created again.
func (it *Item) ID() uint32 {
	it.sub.mu.Lock()
	defer it.sub.mu.Unlock()
	return it.id
}

// Revised returns the sampling interval and the queue size of the server.
func (it *Item) Revised() (sampling time.Duration, queue uint32) {
	it.sub.mu.Lock()
	defer it.sub.mu.Unlock()
	return it.sampling, it.queue
}

// itemBatch is how many items are created by one request at most.
const itemBatch = 1000

// Monitor creates monitored items (Part 4, 5.13.2). Changes of items without
// an OnChange go to fn, or, if that is nil, to SubscriptionConfig.OnChange or
// else to [Subscription.Changes]. Functions of one subscription are called one
// at a time and in the order of the server's messages. An item that the server
// refused says so in its Status.
func (s *Subscription) Monitor(ctx context.Context, fn func(Change), items ...MonitorItem) ([]*Item, error) {
	made := make([]*Item, len(items))
	s.mu.Lock()
	for i, spec := range items {
		if spec.OnChange == nil {
			spec.OnChange = fn
		}
		s.handles++
		made[i] = &Item{Tag: spec.Tag, sub: s, handle: s.handles, spec: spec}
		// The first change may come before the answer is looked at.
		s.items[s.handles] = made[i]
	}
	s.mu.Unlock()
	ch, err := s.c.ready(ctx, s.c.cfg.timing(ctx), nil)
	if err == nil {
		err = s.createItems(ctx, ch, made)
	}
	if err != nil {
		_, _ = s.Unmonitor(ctx, made...) // some may have been created
		return nil, wrap("CreateMonitoredItems", err)
	}
	s.mu.Lock()
	for _, it := range made {
		if it.status.IsBad() {
			delete(s.items, it.handle)
		}
	}
	s.mu.Unlock()
	return made, nil
}

// createItems creates items on the server, in several requests where they are
// many, or more than the server takes.
func (s *Subscription) createItems(ctx context.Context, ch *channel, items []*Item) error {
	// Restoring the subscription may have created them meanwhile.
	s.mu.Lock()
	id := s.id
	items = slices.DeleteFunc(slices.Clone(items), func(it *Item) bool { return it.id != 0 })
	s.mu.Unlock()
	for most := itemBatch; len(items) > 0; {
		n := min(len(items), most)
		err := s.createBatch(ctx, ch, id, items[:n])
		if n > 1 && ua.StatusOf(err) == ua.BadTooManyOperations {
			most = n / 2
			continue
		}
		if err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}

func (s *Subscription) createBatch(ctx context.Context, ch *channel, id uint32, items []*Item) error {
	req := ua.CreateMonitoredItemsRequest{
		SubscriptionID:     id,
		TimestampsToReturn: *s.cfg.Timestamps,
		ItemsToCreate:      make([]ua.MonitoredItemCreateRequest, len(items)),
	}
	s.mu.Lock()
	for i, it := range items {
		req.ItemsToCreate[i] = it.createRequest()
	}
	s.mu.Unlock()
	var resp ua.CreateMonitoredItemsResponse
	if err := ch.call(ctx, s.c.cfg.timing(ctx), &req, &resp, nil); err != nil {
		return err
	}
	if err := sameCount("CreateMonitoredItems", len(items), len(resp.Results)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, it := range items {
		r := &resp.Results[i]
		it.id, it.status = r.MonitoredItemID, r.StatusCode
		it.sampling, it.queue = fromMilliseconds(r.RevisedSamplingInterval), r.RevisedQueueSize
	}
	return nil
}

func (it *Item) createRequest() ua.MonitoredItemCreateRequest {
	attribute := it.spec.Attribute
	if attribute == 0 {
		attribute = ua.AttributeIDValue
	}
	mode := it.spec.Mode
	if mode == 0 && !it.disabled {
		mode = ua.MonitoringModeReporting
	}
	return ua.MonitoredItemCreateRequest{
		ItemToMonitor: ua.ReadValueID{
			NodeID:      it.spec.Node,
			AttributeID: attribute,
			IndexRange:  it.spec.IndexRange,
		},
		MonitoringMode:      mode,
		RequestedParameters: it.parameters(),
	}
}

func (it *Item) parameters() ua.MonitoringParameters {
	p := ua.MonitoringParameters{
		ClientHandle:     it.handle,
		SamplingInterval: -1, // the publishing interval (Part 4, 7.21)
		Filter:           ua.ObjectOf(it.spec.Filter),
		QueueSize:        max(it.spec.Queue, 1),
		DiscardOldest:    !it.spec.DiscardNewest,
	}
	if it.spec.Sampling > 0 {
		p.SamplingInterval = float64(it.spec.Sampling) / float64(time.Millisecond)
	} else if it.spec.Sampling < 0 {
		p.SamplingInterval = 0
	}
	return p
}

// Modify changes Sampling, Queue, DiscardNewest and Filter of an item (Part 4,
// 5.13.3); other fields of spec are ignored.
func (it *Item) Modify(ctx context.Context, spec MonitorItem) error {
	s := it.sub
	s.mu.Lock()
	next := *it
	next.spec.Sampling, next.spec.Queue = spec.Sampling, spec.Queue
	next.spec.DiscardNewest, next.spec.Filter = spec.DiscardNewest, spec.Filter
	req := ua.ModifyMonitoredItemsRequest{
		SubscriptionID:     s.id,
		TimestampsToReturn: *s.cfg.Timestamps,
		ItemsToModify:      []ua.MonitoredItemModifyRequest{{MonitoredItemID: it.id, RequestedParameters: next.parameters()}},
	}
	s.mu.Unlock()
	var resp ua.ModifyMonitoredItemsResponse
	if err := s.c.Do(ctx, &req, &resp); err != nil {
		return err
	}
	if err := sameCount("ModifyMonitoredItems", 1, len(resp.Results)); err != nil {
		return err
	}
	r := &resp.Results[0]
	if r.StatusCode.IsBad() {
		return wrap("ModifyMonitoredItems", r.StatusCode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	it.spec = next.spec
	it.sampling, it.queue = fromMilliseconds(r.RevisedSamplingInterval), r.RevisedQueueSize
	return nil
}

// SetMode sets the monitoring mode of items (Part 4, 5.13.4) and returns a
// status for each.
func (s *Subscription) SetMode(ctx context.Context, mode ua.MonitoringMode, items ...*Item) ([]ua.StatusCode, error) {
	req := ua.SetMonitoringModeRequest{SubscriptionID: s.ID(), MonitoringMode: mode, MonitoredItemIDs: s.ids(items)}
	var resp ua.SetMonitoringModeResponse
	if err := s.c.Do(ctx, &req, &resp); err != nil {
		return nil, err
	}
	if err := sameCount("SetMonitoringMode", len(items), len(resp.Results)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, it := range items {
		if !resp.Results[i].IsBad() {
			it.spec.Mode, it.disabled = mode, mode == ua.MonitoringModeDisabled
		}
	}
	return resp.Results, nil
}

// Unmonitor deletes items (Part 4, 5.13.6). None of their changes is delivered
// after it returned, except one that is being delivered.
func (s *Subscription) Unmonitor(ctx context.Context, items ...*Item) ([]ua.StatusCode, error) {
	req := ua.DeleteMonitoredItemsRequest{SubscriptionID: s.ID(), MonitoredItemIDs: s.ids(items)}
	if len(items) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	for _, it := range items {
		delete(s.items, it.handle)
	}
	s.mu.Unlock()
	var resp ua.DeleteMonitoredItemsResponse
	if err := s.c.Do(ctx, &req, &resp); err != nil {
		return nil, err
	}
	return resp.Results, sameCount("DeleteMonitoredItems", len(items), len(resp.Results))
}

func (s *Subscription) ids(items []*Item) []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]uint32, len(items))
	for i, it := range items {
		ids[i] = it.id
	}
	return ids
}

func fromMilliseconds(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, 1e11) * float64(time.Millisecond))
}
