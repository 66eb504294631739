package client

import (
	"context"
	"iter"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// browseAll asks for all fields of a ReferenceDescription.
const browseAll = uint32(ua.BrowseResultMaskAll)

// Browse yields the forward hierarchical references of a node: its children.
// It fetches the next part of a long answer when the loop gets there, and
// tells the server when the loop ends early. An error ends the sequence.
func (c *Client) Browse(ctx context.Context, node ua.NodeID) iter.Seq2[ua.ReferenceDescription, error] {
	return c.BrowseReferences(ctx, ua.BrowseDescription{
		NodeID:          node,
		BrowseDirection: ua.BrowseDirectionForward,
		ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences),
		IncludeSubtypes: true,
		ResultMask:      browseAll,
	})
}

// BrowseReferences yields the references that a description selects (Part 4,
// 5.9.2); see Browse.
func (c *Client) BrowseReferences(ctx context.Context, what ua.BrowseDescription) iter.Seq2[ua.ReferenceDescription, error] {
	return func(yield func(ua.ReferenceDescription, error) bool) {
		result, err := c.browse(ctx, what)
		for {
			if err == nil {
				err = wrap("Browse", result.StatusCode.Err())
			}
			if err != nil {
				yield(ua.ReferenceDescription{}, err)
				return
			}
			for i := range result.References {
				if !yield(result.References[i], nil) {
					c.releaseBrowse(ctx, result.ContinuationPoint)
					return
				}
			}
			if len(result.ContinuationPoint) == 0 {
				return
			}
			result, err = c.browseNext(ctx, result.ContinuationPoint, false)
		}
	}
}

func (c *Client) browse(ctx context.Context, what ua.BrowseDescription) (ua.BrowseResult, error) {
	req := ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{what}}
	var resp ua.BrowseResponse
	if err := c.Do(ctx, &req, &resp); err != nil {
		return ua.BrowseResult{}, err
	}
	if err := sameCount("Browse", 1, len(resp.Results)); err != nil {
		return ua.BrowseResult{}, err
	}
	return resp.Results[0], nil
}

func (c *Client) browseNext(ctx context.Context, point []byte, release bool) (ua.BrowseResult, error) {
	req := ua.BrowseNextRequest{ReleaseContinuationPoints: release, ContinuationPoints: [][]byte{point}}
	var resp ua.BrowseNextResponse
	if err := c.Do(ctx, &req, &resp); err != nil {
		return ua.BrowseResult{}, err
	}
	if release {
		return ua.BrowseResult{}, nil
	}
	if err := sameCount("BrowseNext", 1, len(resp.Results)); err != nil {
		return ua.BrowseResult{}, err
	}
	return resp.Results[0], nil
}

// releaseBrowse frees what the server keeps for an unfinished Browse. Servers
// keep only a few of these for a session. The loop may have ended because its
// context did; that one does not count here.
func (c *Client) releaseBrowse(ctx context.Context, point []byte) {
	if len(point) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.RequestTimeout)
	defer cancel()
	_, _ = c.browseNext(ctx, point, true)
}
