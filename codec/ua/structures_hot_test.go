package ua

import (
	"testing"

	"github.com/uahive/uahive/codec"
)

// hot returns the messages of the steady state with content of usual size.
func hot() map[string]Structure {
	header := RequestHeader{AuthenticationToken: OpaqueID(1, make([]byte, 32)), Timestamp: 1 << 57, RequestHandle: 7, TimeoutHint: 10_000}
	read := &ReadRequest{RequestHeader: header, TimestampsToReturn: TimestampsToReturnBoth}
	browse := &BrowseRequest{RequestHeader: header}
	change := &DataChangeNotification{}
	for i := range 10 {
		id := NumericID(2, uint32(1000+i))
		read.NodesToRead = append(read.NodesToRead, ReadValueID{NodeID: id, AttributeID: AttributeIDValue})
		browse.NodesToBrowse = append(browse.NodesToBrowse, BrowseDescription{NodeID: id, ReferenceTypeID: NumericID(0, 33), IncludeSubtypes: true, ResultMask: 63})
		change.MonitoredItems = append(change.MonitoredItems, MonitoredItemNotification{
			ClientHandle: uint32(i), Value: DataValue{Value: VariantOf(float64(i)), SourceTimestamp: 1 << 57, ServerTimestamp: 1 << 57},
		})
	}
	return map[string]Structure{
		"ReadRequest": read, "BrowseRequest": browse, "DataChangeNotification": change,
		"PublishRequest": &PublishRequest{
			RequestHeader:                header,
			SubscriptionAcknowledgements: []SubscriptionAcknowledgement{{SubscriptionID: 1, SequenceNumber: 2}},
		},
		"PublishResponse": &PublishResponse{
			SubscriptionID: 1, AvailableSequenceNumbers: []uint32{1, 2, 3}, Results: []StatusCode{Good},
			NotificationMessage: NotificationMessage{SequenceNumber: 1, PublishTime: 1 << 57},
		},
	}
}

func TestHotStructuresDoNotAllocate(t *testing.T) {
	for name, s := range hot() {
		body := s.AppendTo(nil)
		buf := make([]byte, 0, 2*len(body))
		if got := testing.AllocsPerRun(100, func() { buf = s.AppendTo(buf[:0]) }); got != 0 {
			t.Errorf("%s: encoding makes %v allocations", name, got)
		}
		var d codec.Decoder
		d.Alias(true)
		if got := testing.AllocsPerRun(100, func() {
			d.Reset(body, nil)
			s.DecodeFrom(&d)
		}); got != 0 {
			t.Errorf("%s: decoding makes %v allocations", name, got)
		}
		if d.Err() != nil {
			t.Errorf("%s: %v", name, d.Err())
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, s := range hot() {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				buf = s.AppendTo(buf[:0])
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, s := range hot() {
		b.Run(name, func(b *testing.B) {
			body := s.AppendTo(nil)
			var d codec.Decoder
			d.Alias(true)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				d.Reset(body, nil)
				s.DecodeFrom(&d)
			}
		})
	}
}
