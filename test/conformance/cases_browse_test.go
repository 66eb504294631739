package conformance

import (
	"bytes"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// browseAll asks for all references of a node, so many at a time.
func browseAll(node ua.NodeID, most uint32) *ua.BrowseRequest {
	return &ua.BrowseRequest{
		RequestedMaxReferencesPerNode: most,
		NodesToBrowse: []ua.BrowseDescription{{
			NodeID: node, BrowseDirection: ua.BrowseDirectionBoth, ResultMask: uint32(ua.BrowseResultMaskAll),
		}},
	}
}

var serverNode = ua.NumericID(0, id.Server)

// A continuation point that is not one of this session's, or was used or
// released, is BadContinuationPointInvalid (Part 4, 5.9.3). Case C9: servers read
// eight bytes of points that had three.
func TestCaseC09_ContinuationPoints(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s, other := w.session(), w.session()
		point := func(s *rawpeer.Session) []byte {
			return rawpeer.Do[*ua.BrowseResponse](s, browseAll(serverNode, 1)).Results[0].ContinuationPoint
		}
		next := func(s *rawpeer.Session, release bool, points ...[]byte) []ua.BrowseResult {
			return rawpeer.Do[*ua.BrowseNextResponse](s, &ua.BrowseNextRequest{
				ReleaseContinuationPoints: release, ContinuationPoints: points,
			}).Results
		}
		mine, foreign := point(s), point(other)
		long := append(bytes.Clone(mine), 0)
		forged := bytes.Clone(mine)
		forged[len(forged)-1] ^= 1
		for _, bad := range [][]byte{nil, {}, {1}, {1, 2}, {1, 2, 3}, mine[:len(mine)-1], long, forged, foreign, make([]byte, len(mine)), make([]byte, 1<<16)} {
			for _, release := range []bool{false, true} {
				r := next(s, release, bad)[0]
				if r.StatusCode != ua.BadContinuationPointInvalid || len(r.References) > 0 || len(r.ContinuationPoint) > 0 {
					t.Errorf("%x: %+v", bad, r)
				}
			}
		}
		first := next(s, false, mine)[0]
		if first.StatusCode != ua.Good || len(first.References) != 1 {
			t.Fatalf("a good point: %+v", first)
		}
		expect(t, "a point that was used", next(s, false, mine)[0].StatusCode, ua.BadContinuationPointInvalid)
		released := next(s, true, first.ContinuationPoint)[0]
		if released.StatusCode != ua.Good || len(released.References) > 0 || len(released.ContinuationPoint) > 0 {
			t.Errorf("releasing: %+v", released)
		}
		expect(t, "a released point", next(s, false, first.ContinuationPoint)[0].StatusCode, ua.BadContinuationPointInvalid)
		expect(t, "releasing twice", next(s, true, first.ContinuationPoint)[0].StatusCode, ua.BadContinuationPointInvalid)
		// The other session's own point outlived the attempts.
		expect(t, "the owner's point", next(other, false, foreign)[0].StatusCode, ua.Good)
		// In a batch the others are not touched; a point is good once.
		p := point(s)
		batch := next(s, false, []byte{1}, p, p)
		for i, want := range []ua.StatusCode{ua.BadContinuationPointInvalid, ua.Good, ua.BadContinuationPointInvalid} {
			expect(t, "batch", batch[i].StatusCode, want)
		}
	})
}

// Paging shows every reference once, and an exact page leaves no point behind
// (Part 4, 5.9.2).
func TestBrowseInPages(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		all := rawpeer.Do[*ua.BrowseResponse](s, browseAll(serverNode, 0)).Results[0].References
		for _, size := range []int{1, 2, 3, len(all) - 1, len(all), len(all) + 1} {
			r := rawpeer.Do[*ua.BrowseResponse](s, browseAll(serverNode, uint32(size))).Results[0]
			list := r.References
			for len(r.ContinuationPoint) > 0 {
				if len(r.References) != size {
					t.Fatalf("a page of %d has %d", size, len(r.References))
				}
				r = rawpeer.Do[*ua.BrowseNextResponse](s, &ua.BrowseNextRequest{ContinuationPoints: [][]byte{r.ContinuationPoint}}).Results[0]
				if len(r.References) == 0 {
					t.Fatalf("an empty page of %d", size)
				}
				list = append(list, r.References...)
			}
			if len(list) != len(all) {
				t.Fatalf("%d references in pages of %d, not %d", len(list), size, len(all))
			}
			for i := range list {
				if list[i] != all[i] {
					t.Fatalf("reference %d in pages of %d: %+v", i, size, list[i])
				}
			}
		}
	})
}

// A session holds a fixed number of continuation points. Beyond it the answer is
// BadNoContinuationPoints, without one, and no older point is taken away
// (Part 4, 7.9).
func TestNoContinuationPointsLeft(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		most := int(w.Space().Node(ua.NumericID(0, id.Server_ServerCapabilities_MaxBrowseContinuationPoints)).Variable().Load().Value.Any().(uint16))
		req := browseAll(serverNode, 1)
		for len(req.NodesToBrowse) < most+2 {
			req.NodesToBrowse = append(req.NodesToBrowse, req.NodesToBrowse[0])
		}
		results := rawpeer.Do[*ua.BrowseResponse](s, req).Results
		for i, r := range results {
			want := ua.Good
			if i >= most {
				want = ua.BadNoContinuationPoints
			}
			if r.StatusCode != want || (len(r.ContinuationPoint) > 0) != (i < most) || i >= most && len(r.References) > 0 {
				t.Errorf("result %d: %v, %d bytes, %d references", i, r.StatusCode, len(r.ContinuationPoint), len(r.References))
			}
		}
		next := rawpeer.Do[*ua.BrowseNextResponse](s, &ua.BrowseNextRequest{
			ReleaseContinuationPoints: true, ContinuationPoints: [][]byte{results[0].ContinuationPoint},
		})
		expect(t, "release", next.Results[0].StatusCode, ua.Good)
		expect(t, "after a release", rawpeer.Do[*ua.BrowseResponse](s, browseAll(serverNode, 1)).Results[0].StatusCode, ua.Good)
	})
}
