package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func file(body string) *File {
	f := &File{Package: "p", Imports: []string{"slices", "example.org/x"}}
	f.P("%s", body)
	return f
}

func TestBytesFormatsAndGroupsImports(t *testing.T) {
	content, err := file("var  x=1").Bytes()
	want := Header + "package p\n\nimport (\n\t\"slices\"\n\n\t\"example.org/x\"\n)\n\nvar x = 1\n"
	if err != nil || string(content) != want {
		t.Fatalf("%v\n%s", err, content)
	}
	if _, err := file("var = 1").Bytes(); err == nil {
		t.Fatal("what does not parse was printed")
	}
}

// A file that is made no longer must not stay behind, and nothing else may go.
func TestWritePrunesOnlyGeneratedFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"old_gen.go": Header + "package p\n", "hand_gen.go": "package p\n", "hand.go": "package p\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(dir, map[string]*File{"new_gen.go": file("var x = 1"), "sub/a_gen.go": file("var y = 1")}); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, pattern := range []string{"*.go", "sub/*.go"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			left = append(left, filepath.Base(path))
		}
	}
	if got := strings.Join(left, " "); got != "hand.go hand_gen.go new_gen.go a_gen.go" {
		t.Fatal(got)
	}
}
