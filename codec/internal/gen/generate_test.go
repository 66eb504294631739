package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/internal/gen/source"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

func sample(t *testing.T) *model.Model {
	t.Helper()
	schema, err := os.ReadFile("testdata/sample.bsd")
	if err != nil {
		t.Fatal(err)
	}
	nodeSet, err := os.ReadFile("testdata/sample.xml")
	if err != nil {
		t.Fatal(err)
	}
	names := []model.NodeIDName{}
	for i, name := range []string{"SamplePart", "SampleWhole", "SampleOptional", "SampleUnion", "SampleTree", "SampleEmpty"} {
		names = append(names,
			model.NodeIDName{Name: name, ID: 2000 + uint32(i), Type: true},
			model.NodeIDName{Name: name + "_Encoding_DefaultBinary", ID: 3000 + uint32(i)})
	}
	m, err := model.Parse(schema, nodeSet, names)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sampleSource prints what the generator makes of the sample: its structures
// and enumerations in one file that can be compiled into package ua.
func sampleSource(t *testing.T) []byte {
	t.Helper()
	m := sample(t)
	types, err := newTypes(m)
	if err != nil {
		t.Fatal(err)
	}
	f := types.emit(m.Structures)
	for _, e := range m.Enums {
		if e.OptionSet {
			emitOptionSet(f, e)
		} else {
			emitEnum(f, e)
		}
	}
	content, err := f.Bytes()
	if err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	return content
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run the test with -rewrite and look at the change\n%s", name, got)
	}
}

func TestSampleGolden(t *testing.T) {
	golden(t, "sample_gen.golden", sampleSource(t))
	var tables bytes.Buffer
	m := sample(t)
	for _, f := range []*source.File{
		emitRegistry(m.Structures), emitIDs(m.NodeIDs),
		emitStatus([]model.StatusCode{{Name: "Good"}, {Name: "BadNodeIdUnknown", Value: 0x80340000}}),
	} {
		content, err := f.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		tables.Write(content)
	}
	golden(t, "tables_gen.golden", tables.Bytes())
}

// What the standard does not have yet - unions, structures that hold
// themselves - is compiled into package ua by an overlay and exercised there
// by testdata/sample_test.txt.
func TestSampleRunsInsidePackageUA(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a package; skipped by -short")
	}
	root, err := source.Root("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	generated := filepath.Join(dir, "sample.go")
	if err := os.WriteFile(generated, sampleSource(t), 0o644); err != nil {
		t.Fatal(err)
	}
	test, err := filepath.Abs("testdata/sample_test.txt")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(root, "codec", "ua", "sample_gen.go"):  generated,
		filepath.Join(root, "codec", "ua", "sample_test.go"): test,
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-count=1", "-overlay", file, "-run", "^TestSample", "./codec/ua")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ok") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestUnknownTypesAndBrokenMasksAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"unknown type":   `<StructuredType Name="A"><Field Name="X" TypeName="tns:Nowhere"/></StructuredType>`,
		"short mask":     `<StructuredType Name="A"><Field Name="B" TypeName="opc:Bit"/></StructuredType>`,
		"holds itself":   `<StructuredType Name="A"><Field Name="X" TypeName="tns:A"/></StructuredType>`,
		"unknown switch": `<StructuredType Name="A"><Field Name="X" TypeName="opc:Byte" SwitchField="No"/></StructuredType>`,
	} {
		m, err := model.Parse([]byte("<TypeDictionary>"+body+"</TypeDictionary>"), []byte("<UANodeSet/>"))
		if err == nil {
			_, err = newTypes(m)
		}
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
