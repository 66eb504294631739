package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gopcua/opcua"
	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/ua"
)

const namespace = "urn:uahive:demo"

func demo(path string) *ua.NodeID { return ua.NewStringNodeID(2, path) }

func wantedNodes() []*ua.NodeID {
	paths := []string{"Plant", "Types", "Types.Scalar", "Types.Array", "Types.Matrix", "Types.Matrix.Double", "Types.Matrix.Int32"}
	for _, machine := range []string{"Press1", "Press2", "Oven1", "Conveyor1"} {
		paths = append(paths, "Plant."+machine)
	}
	for _, member := range []string{"Temperature", "Pressure", "Speed", "PartCounter", "State", "SetPoint", "Start", "Stop", "Reset", "Add"} {
		paths = append(paths, "Plant.Press1."+member)
	}
	for _, c := range typeCases() {
		paths = append(paths, "Types.Scalar."+c.name, "Types.Array."+c.name)
	}
	var ids []*ua.NodeID
	for _, p := range paths {
		ids = append(ids, demo(p))
	}
	return ids
}

// tree is what a walk along the hierarchical references found; node ids of
// this client are pointers, so their text is the key.
type tree struct {
	nodes      map[string]*ua.ReferenceDescription
	order      []string
	supertypes map[string]*ua.NodeID
}

// builtin climbs from a data type to the built-in or abstract one (a numeric id
// below 30) that it is made of.
func (t *tree) builtin(dataType *ua.NodeID) (uint32, error) {
	for dataType.Namespace() != 0 || dataType.IntID() >= 30 {
		super, ok := t.supertypes[dataType.String()]
		if !ok {
			return 0, fmt.Errorf("data type %v has no supertype", dataType)
		}
		dataType = super
	}
	return dataType.IntID(), nil
}

// spaceChecks are the checks of the View, Attribute and Method services.
type spaceChecks struct {
	c      *opcua.Client
	r      *report
	prefix string
}

func (s *spaceChecks) check(ctx context.Context, name string, f func(ctx context.Context) (string, error)) {
	s.r.checkWithin(ctx, time.Minute, s.prefix+name, f)
}

// browse browses nodes forward and follows continuation points to their end.
func (s *spaceChecks) browse(ctx context.Context, page uint32, nodes ...*ua.NodeID) ([][]*ua.ReferenceDescription, error) {
	req := &ua.BrowseRequest{RequestedMaxReferencesPerNode: page}
	for _, n := range nodes {
		req.NodesToBrowse = append(req.NodesToBrowse, &ua.BrowseDescription{
			NodeID: n, BrowseDirection: ua.BrowseDirectionForward, IncludeSubtypes: true,
			ReferenceTypeID: ua.NewNumericNodeID(0, id.HierarchicalReferences), ResultMask: uint32(ua.BrowseResultMaskAll),
		})
	}
	res, err := s.c.Browse(ctx, req)
	if err != nil {
		return nil, err
	}
	if len(res.Results) != len(nodes) {
		return nil, fmt.Errorf("%d results for %d nodes", len(res.Results), len(nodes))
	}
	found := make([][]*ua.ReferenceDescription, len(nodes))
	for i, r := range res.Results {
		for {
			if r.StatusCode != ua.StatusOK {
				return nil, fmt.Errorf("browsing %v: %w", nodes[i], r.StatusCode)
			}
			found[i] = append(found[i], r.References...)
			if len(r.ContinuationPoint) == 0 {
				break
			}
			next, err := s.c.BrowseNext(ctx, &ua.BrowseNextRequest{ContinuationPoints: [][]byte{r.ContinuationPoint}})
			if err != nil {
				return nil, err
			}
			r = next.Results[0]
		}
	}
	return found, nil
}

func (s *spaceChecks) walk(ctx context.Context, start *ua.NodeID) (*tree, error) {
	t := &tree{nodes: map[string]*ua.ReferenceDescription{}, supertypes: map[string]*ua.NodeID{}}
	seen := map[string]bool{start.String(): true}
	level := []*ua.NodeID{start}
	for len(level) > 0 {
		var following []*ua.NodeID
		for batch := range slices.Chunk(level, 200) {
			found, err := s.browse(ctx, 0, batch...)
			if err != nil {
				return nil, err
			}
			for i, references := range found {
				for _, ref := range references {
					key := ref.NodeID.NodeID.String()
					if ref.ReferenceTypeID.IntID() == id.HasSubtype {
						t.supertypes[key] = batch[i]
					}
					if seen[key] {
						continue
					}
					seen[key] = true
					t.nodes[key] = ref
					t.order = append(t.order, key)
					following = append(following, ref.NodeID.NodeID)
				}
			}
		}
		level = following
	}
	return t, nil
}

func (s *spaceChecks) read(ctx context.Context, attribute ua.AttributeID, indexRange string, nodes ...*ua.NodeID) ([]*ua.DataValue, error) {
	var values []*ua.DataValue
	for batch := range slices.Chunk(nodes, 500) {
		req := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth}
		for _, n := range batch {
			req.NodesToRead = append(req.NodesToRead, &ua.ReadValueID{NodeID: n, AttributeID: attribute, IndexRange: indexRange})
		}
		res, err := s.c.Read(ctx, req)
		if err != nil {
			return nil, err
		}
		if len(res.Results) != len(batch) {
			return nil, fmt.Errorf("%d results for %d nodes", len(res.Results), len(batch))
		}
		values = append(values, res.Results...)
	}
	return values, nil
}

func (s *spaceChecks) value(ctx context.Context, node *ua.NodeID, indexRange string) (*ua.Variant, error) {
	values, err := s.read(ctx, ua.AttributeIDValue, indexRange, node)
	if err != nil {
		return nil, err
	}
	if values[0].Status != ua.StatusOK {
		return nil, fmt.Errorf("reading %v: %w", node, values[0].Status)
	}
	return values[0].Value, nil
}

func (s *spaceChecks) write(ctx context.Context, node *ua.NodeID, indexRange string, v *ua.Variant) error {
	res, err := s.c.Write(ctx, &ua.WriteRequest{NodesToWrite: []*ua.WriteValue{{
		NodeID: node, AttributeID: ua.AttributeIDValue, IndexRange: indexRange,
		Value: &ua.DataValue{EncodingMask: ua.DataValueValue, Value: v},
	}}})
	if err != nil {
		return err
	}
	if res.Results[0] != ua.StatusOK {
		return res.Results[0]
	}
	return nil
}

// roundtrip writes a value and wants the same value, type and shape back.
func (s *spaceChecks) roundtrip(ctx context.Context, node *ua.NodeID, value any) error {
	want, err := ua.NewVariant(value)
	if err != nil {
		return err
	}
	if err := s.write(ctx, node, "", want); err != nil {
		return fmt.Errorf("writing %s: %w", describe(want), err)
	}
	return s.expect(ctx, node, "", value)
}

func (s *spaceChecks) expect(ctx context.Context, node *ua.NodeID, indexRange string, value any) error {
	want, err := ua.NewVariant(value)
	if err != nil {
		return err
	}
	got, err := s.value(ctx, node, indexRange)
	if err != nil {
		return fmt.Errorf("range %q: %w", indexRange, err)
	}
	if got == nil || got.Type() != want.Type() || !slices.Equal(got.ArrayDimensions(), want.ArrayDimensions()) || !same(got.Value(), want.Value()) {
		return fmt.Errorf("range %q: want %s, read %s", indexRange, describe(want), describe(got))
	}
	return nil
}

// mismatch says how a value differs from the DataType and ValueRank that
// describe it; nil where it does not.
func mismatch(t *tree, dataType *ua.NodeID, rank int32, v *ua.Variant) error {
	base, err := t.builtin(dataType)
	if err != nil {
		return err
	}
	kind := uint32(v.Type())
	ok := kind == base
	switch base {
	case id.BaseDataType:
		ok = true
	case id.Number:
		ok = kind >= 2 && kind <= 11
	case id.Integer:
		ok = slices.Contains([]uint32{2, 4, 6, 8}, kind)
	case id.UInteger:
		ok = slices.Contains([]uint32{3, 5, 7, 9}, kind)
	case id.Enumeration:
		ok = kind == 6
	}
	if !ok {
		return fmt.Errorf("value is %v, DataType %v stands for built-in type %d", v.Type(), dataType, base)
	}
	dims := int32(len(v.ArrayDimensions()))
	if dims == 0 && v.Has(ua.VariantArrayValues) {
		dims = 1
	}
	switch rank {
	case -3:
		ok = dims <= 1
	case -2:
	case -1:
		ok = dims == 0
	case 0:
		ok = dims >= 1
	default:
		ok = dims == rank
	}
	if !ok {
		return fmt.Errorf("value has %d dimensions, ValueRank is %d", dims, rank)
	}
	return nil
}

// errWithout marks variables that have no good value.
var errWithout = errors.New("no good value")

// variables reads all variables that keep takes and gives what is wrong.
func (s *spaceChecks) variables(ctx context.Context, t *tree, keep func(ns uint16) bool) (n int, problems map[string]error, err error) {
	var nodes []*ua.NodeID
	for _, key := range t.order {
		if ref := t.nodes[key]; ref.NodeClass == ua.NodeClassVariable && keep(ref.NodeID.NodeID.Namespace()) {
			nodes = append(nodes, ref.NodeID.NodeID)
		}
	}
	values, err := s.read(ctx, ua.AttributeIDValue, "", nodes...)
	if err != nil {
		return 0, nil, err
	}
	dataTypes, err := s.read(ctx, ua.AttributeIDDataType, "", nodes...)
	if err != nil {
		return 0, nil, err
	}
	ranks, err := s.read(ctx, ua.AttributeIDValueRank, "", nodes...)
	if err != nil {
		return 0, nil, err
	}
	problems = map[string]error{}
	for i, n := range nodes {
		switch v := values[i]; {
		case v.Status != ua.StatusOK:
			problems[n.String()] = fmt.Errorf("%w: %w", errWithout, v.Status)
		case v.Value == nil || v.Value.Type() == ua.TypeIDNull:
			problems[n.String()] = fmt.Errorf("%w: null", errWithout)
		default:
			rank, _ := ranks[i].Value.Value().(int32)
			if err := mismatch(t, dataTypes[i].Value.NodeID(), rank, v.Value); err != nil {
				problems[n.String()] = err
			}
		}
	}
	return len(nodes), problems, nil
}

func (s *spaceChecks) run(ctx context.Context) {
	s.check(ctx, "the demo's namespace has index 2", func(ctx context.Context) (string, error) {
		names, err := s.c.NamespaceArray(ctx)
		if err != nil {
			return "", err
		}
		if len(names) < 3 || names[2] != namespace {
			return "", fmt.Errorf("NamespaceArray %q", names)
		}
		return "", nil
	})
	s.check(ctx, "browses all of the demo from Objects", func(ctx context.Context) (string, error) {
		found, err := s.walk(ctx, ua.NewNumericNodeID(0, id.ObjectsFolder))
		if err != nil {
			return "", err
		}
		for _, n := range wantedNodes() {
			if found.nodes[n.String()] == nil {
				return "", fmt.Errorf("%v is missing", n)
			}
		}
		mine := 0
		for _, ref := range found.nodes {
			if ref.NodeID.NodeID.Namespace() == 2 {
				mine++
			}
		}
		return fmt.Sprintf("%d nodes of the demo", mine), nil
	})
	t := &tree{}
	s.check(ctx, "browses everything from Root", func(ctx context.Context) (string, error) {
		var err error
		if t, err = s.walk(ctx, ua.NewNumericNodeID(0, id.RootFolder)); err != nil {
			t = &tree{}
			return "", err
		}
		if len(t.nodes) < 2000 {
			return "", fmt.Errorf("only %d nodes", len(t.nodes))
		}
		return fmt.Sprintf("%d nodes", len(t.nodes)), nil
	})
	s.check(ctx, "paged Browse finds what one page finds", s.paged)
	s.check(ctx, "every variable of the demo reads good and as its DataType says", func(ctx context.Context) (string, error) {
		n, problems, err := s.variables(ctx, t, func(ns uint16) bool { return ns == 2 })
		if err != nil {
			return "", err
		}
		if len(problems) > 0 {
			return "", fmt.Errorf("%d of %d variables: %v", len(problems), n, problems)
		}
		if n < 2*len(typeCases())+6 {
			return "", fmt.Errorf("only %d variables", n)
		}
		return fmt.Sprintf("%d variables", n), nil
	})
	s.check(ctx, "every variable of namespaces 0 and 1 reads, and good values are as their DataType says", func(ctx context.Context) (string, error) {
		n, problems, err := s.variables(ctx, t, func(ns uint16) bool { return ns < 2 })
		if err != nil {
			return "", err
		}
		without := 0
		for node, problem := range problems {
			if !errors.Is(problem, errWithout) {
				return "", fmt.Errorf("%s: %w", node, problem)
			}
			without++
		}
		return fmt.Sprintf("%d variables, %d without a good value", n, without), nil
	})
	s.check(ctx, "TranslateBrowsePathsToNodeIds finds Press1's PartCounter", func(ctx context.Context) (string, error) {
		var path []*ua.QualifiedName
		for _, p := range []string{"Plant", "Plant.Press1", "Plant.Press1.PartCounter"} {
			ref := t.nodes[demo(p).String()]
			if ref == nil {
				return "", fmt.Errorf("%s is not there", p)
			}
			path = append(path, ref.BrowseName)
		}
		n, err := s.c.Node(ua.NewNumericNodeID(0, id.ObjectsFolder)).TranslateBrowsePathsToNodeIDs(ctx, path)
		if err != nil {
			return "", err
		}
		if n.String() != demo("Plant.Press1.PartCounter").String() {
			return "", fmt.Errorf("found %v", n)
		}
		return "", nil
	})
	s.check(ctx, "an unknown node is BadNodeIdUnknown", func(ctx context.Context) (string, error) {
		_, err := s.value(ctx, demo("No.Such.Node"), "")
		return "", wantStatus(err, ua.StatusBadNodeIDUnknown)
	})
	s.writes(ctx)
	s.ranges(ctx)
	s.methods(ctx)
}

func (s *spaceChecks) paged(ctx context.Context) (string, error) {
	for _, n := range []*ua.NodeID{
		ua.NewNumericNodeID(0, id.ObjectsFolder), ua.NewNumericNodeID(0, id.BaseDataType),
		ua.NewNumericNodeID(0, id.Server), demo("Types.Scalar"),
	} {
		var ids [2]string
		for i, page := range []uint32{0, 3} {
			found, err := s.browse(ctx, page, n)
			if err != nil {
				return "", err
			}
			var all []string
			for _, ref := range found[0] {
				all = append(all, ref.NodeID.String())
			}
			ids[i] = strings.Join(all, " ")
		}
		if ids[0] != ids[1] || ids[0] == "" {
			return "", fmt.Errorf("%v: %s and %s", n, ids[0], ids[1])
		}
	}
	return "", nil
}

func (s *spaceChecks) writes(ctx context.Context) {
	for _, c := range typeCases() {
		for _, group := range []struct {
			name   string
			values []any
		}{{"Scalar", c.scalars}, {"Array", c.arrays}} {
			path := "Types." + group.name + "." + c.name
			s.check(ctx, "writes and reads back "+path, func(ctx context.Context) (string, error) {
				for _, v := range group.values {
					if err := s.roundtrip(ctx, demo(path), v); err != nil {
						return "", err
					}
				}
				return "", nil
			})
		}
	}
	s.check(ctx, "writes and reads back matrices", func(ctx context.Context) (string, error) {
		if err := s.roundtrip(ctx, demo("Types.Matrix.Double"), [][]float64{{1.5, 2.5, 3.5}, {-1, 0, 1e300}}); err != nil {
			return "", err
		}
		return "", s.roundtrip(ctx, demo("Types.Matrix.Int32"), [][]int32{{6, 5, 4}, {3, 2, 1}})
	})
	s.check(ctx, "a value of another type is BadTypeMismatch", func(ctx context.Context) (string, error) {
		err := s.write(ctx, demo("Types.Scalar.Int32"), "", ua.MustVariant("text"))
		return "", wantStatus(err, ua.StatusBadTypeMismatch)
	})
}

func (s *spaceChecks) ranges(ctx context.Context) {
	array, text, matrix := demo("Types.Array.Int32"), demo("Types.Scalar.String"), demo("Types.Matrix.Int32")
	s.check(ctx, "reads index ranges of an array, a string and a matrix", func(ctx context.Context) (string, error) {
		return "", errors.Join(
			s.roundtrip(ctx, array, []int32{10, 11, 12, 13, 14}),
			s.roundtrip(ctx, text, "abcdef"),
			s.roundtrip(ctx, matrix, [][]int32{{1, 2, 3}, {4, 5, 6}}),
			s.expect(ctx, array, "1:3", []int32{11, 12, 13}),
			s.expect(ctx, array, "4", []int32{14}),
			s.expect(ctx, text, "2:3", "cd"),
			s.expect(ctx, matrix, "0:1,1:2", [][]int32{{2, 3}, {5, 6}}),
		)
	})
	s.check(ctx, "writes an index range", func(ctx context.Context) (string, error) {
		if err := s.write(ctx, array, "1:2", ua.MustVariant([]int32{91, 92})); err != nil {
			return "", err
		}
		return "", s.expect(ctx, array, "", []int32{10, 91, 92, 13, 14})
	})
	s.check(ctx, "refuses ranges that are out of bounds or malformed", func(ctx context.Context) (string, error) {
		for text, want := range map[string]ua.StatusCode{
			"7:9": ua.StatusBadIndexRangeNoData, "3:1": ua.StatusBadIndexRangeInvalid, "x": ua.StatusBadIndexRangeInvalid,
		} {
			_, err := s.value(ctx, array, text)
			if err := wantStatus(err, want); err != nil {
				return "", fmt.Errorf("%s: %w", text, err)
			}
		}
		return "", nil
	})
}

func (s *spaceChecks) methods(ctx context.Context) {
	call := func(ctx context.Context, inputs ...any) (*ua.CallMethodResult, error) {
		req := &ua.CallMethodRequest{ObjectID: demo("Plant.Press1"), MethodID: demo("Plant.Press1.Add")}
		for _, v := range inputs {
			req.InputArguments = append(req.InputArguments, ua.MustVariant(v))
		}
		return s.c.Call(ctx, req)
	}
	s.check(ctx, "calls Add", func(ctx context.Context) (string, error) {
		for _, in := range [][2]int32{{2, 40}, {-7, 3}} {
			res, err := call(ctx, in[0], in[1])
			if err != nil {
				return "", err
			}
			if res.StatusCode != ua.StatusOK {
				return "", res.StatusCode
			}
			if len(res.OutputArguments) != 1 || res.OutputArguments[0].Value() != in[0]+in[1] {
				return "", fmt.Errorf("outputs %v", res.OutputArguments)
			}
		}
		return "", nil
	})
	s.check(ctx, "refuses wrong arguments of Add", func(ctx context.Context) (string, error) {
		for _, c := range []struct {
			inputs []any
			want   ua.StatusCode
		}{
			{[]any{int32(1)}, ua.StatusBadArgumentsMissing},
			{[]any{int32(1), int32(2), int32(3)}, ua.StatusBadTooManyArguments},
			{[]any{int32(1), "2"}, ua.StatusBadInvalidArgument},
		} {
			res, err := call(ctx, c.inputs...)
			if err != nil {
				return "", err
			}
			if err := wantStatus(res.StatusCode, c.want); err != nil {
				return "", err
			}
			if c.want == ua.StatusBadInvalidArgument &&
				!slices.Equal(res.InputArgumentResults, []ua.StatusCode{ua.StatusOK, ua.StatusBadTypeMismatch}) {
				return "", fmt.Errorf("InputArgumentResults %v", res.InputArgumentResults)
			}
		}
		return "", nil
	})
}

// wantStatus is nil when err is the status.
func wantStatus(err error, status ua.StatusCode) error {
	if errors.Is(err, status) {
		return nil
	}
	return fmt.Errorf("want %v, got %v", status, err)
}
