package model

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// standard loads the pinned inputs when an earlier run of the generator left
// them in the cache; tests do not download.
func standard(t *testing.T) *Model {
	t.Helper()
	dir, err := cacheDir()
	if err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "Opc.Ua.NodeSet2.xml")); err != nil {
		t.Skip("the inputs are not in the cache; go generate puts them there")
	}
	m, err := Load(inputsIn(dir))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestStandardIsComplete(t *testing.T) {
	m := standard(t)
	if len(m.Structures) < 330 || len(m.Enums) < 65 || len(m.StatusCodes) < 270 || len(m.NodeIDs) < 6000 {
		t.Errorf("%d structures, %d enumerations, %d status codes, %d ids",
			len(m.Structures), len(m.Enums), len(m.StatusCodes), len(m.NodeIDs))
	}
	for _, st := range m.Structures {
		if st.DataTypeID == 0 || st.EncodingID == 0 {
			t.Errorf("%s: data type %d, encoding %d", st.Name, st.DataTypeID, st.EncodingID)
		}
	}
	for _, e := range m.Enums {
		if e.DataTypeID == 0 {
			t.Errorf("%s has no data type", e.Name)
		}
	}
	for _, n := range m.NodeSet.Nodes {
		if name := m.NodeSet.Path(n); name == "" || strings.ContainsAny(name, " <>") {
			t.Errorf("node %d is called %q", n.ID, name)
		}
	}
}

// The rule that names nodes by their path is the one of NodeIds.csv: it gives
// the listed name for all but the numbers that were given to other nodes since.
func TestDerivedNamesAgreeWithNodeIDs(t *testing.T) {
	m := standard(t)
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	list, err := readNodeIDs(inputsIn(dir).NodeIDs)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[uint32]string{}
	for _, n := range list {
		listed[n.ID] = n.Name
	}
	same, differ := 0, 0
	for _, n := range m.NodeSet.Nodes {
		if name, ok := listed[n.ID]; ok && name == m.NodeSet.Path(n) {
			same++
		} else if ok {
			differ++
		}
	}
	if same < 4700 || differ > 700 {
		t.Errorf("%d names are the same, %d differ", same, differ)
	}
}

// The binary schema and the NodeSet describe the same wire format; fields of a
// structure that has both must agree in name and order.
func TestSchemaAgreesWithNodeSet(t *testing.T) {
	m := standard(t)
	for _, st := range m.Structures {
		n := m.NodeSet.Node(st.DataTypeID)
		if n == nil || n.Definition == nil || n.IsAbstract && len(st.Fields) == 0 {
			continue
		}
		again, err := m.structureOf(n)
		if err != nil {
			t.Errorf("%s: %v", st.Name, err)
			continue
		}
		if len(again.Fields) != len(st.Fields) || again.Kind != st.Kind {
			t.Errorf("%s: %d fields in one, %d in the other", st.Name, len(st.Fields), len(again.Fields))
			continue
		}
		for i, f := range st.Fields {
			if g := again.Fields[i]; g.Name != f.Name || g.Type != f.Type || g.Array != f.Array || g.Optional != f.Optional {
				t.Errorf("%s: field %d is %+v in the schema and %+v in the nodeset", st.Name, i, *f, *g)
			}
		}
	}
}
