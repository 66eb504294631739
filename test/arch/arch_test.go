// Package arch holds the floor plan as a test: which package may import which, that each one says what it
// is for, that generated files are marked as such, and that goroutines start where they are counted.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/uahive/uahive"

// floors says, for each package, which packages of ours it may import. A name that ends in "/..." also
// covers everything below it. "*" allows all; only what no other package imports may have it.
var floors = map[string][]string{
	"actors":        {},
	"codec":         {},
	"codec/ua":      {"codec"},
	"codec/ua/id":   {},
	"codec/uasc":    {"codec", "codec/ua", "codec/ua/id"},
	"pki":           {"codec/ua", "codec/ua/id"},
	"addrspace":     {"actors", "addrspace/ns0", "codec", "codec/ua", "codec/ua/id"},
	"addrspace/ns0": {},
	"channelactor":  {"actors", "codec/...", "pki"},
	"events":        {"addrspace", "codec", "codec/ua", "codec/ua/id"},
	"audit":         {"codec/ua", "codec/ua/id", "events"},
	"publishloop":   {"actors", "addrspace", "codec", "codec/ua", "codec/ua/id", "events"},
	"sessionactor":  {"actors", "addrspace/...", "audit", "channelactor", "codec/...", "events", "pki", "publishloop"},
	"":              {"actors", "addrspace/...", "audit", "channelactor", "codec/...", "events", "pki", "publishloop", "sessionactor"},
	"client":        {"actors", "codec/...", "pki"},
	"jwtauth":       {"", "codec/ua"},
	"metrics":       {"", "actors", "channelactor", "codec/ua", "publishloop", "sessionactor"},
	// For tests of every floor.
	"internal/fuzzguard": {},
	// Programs, which nobody imports.
	"codec/internal/gen/...": {"codec", "codec/ua", "codec/ua/id", "codec/internal/gen/..."},
	"cmd/...":                {"*"},
	"test/...":               {"*"},
}

// dependencies are the modules that earned their place. Tests may use more.
var dependencies = []string{
	"github.com/HdrHistogram/hdrhistogram-go",
	"github.com/cespare/xxhash/v2",
	"github.com/panjf2000/ants/v2",
	"github.com/rs/zerolog",
	"golang.org/x/sys",
	"golang.org/x/term",
}

// reserved are the modules that one package alone may import, so that programs which do not use it do
// not link them.
var reserved = map[string]string{
	"github.com/golang-jwt/jwt/v5":        "jwtauth",
	"github.com/prometheus/client_golang": "metrics",
}

// goFile is a parsed file that is not a test.
type goFile struct {
	path string // from the module's root, with slashes
	pkg  string // its folder; "" for the root
	ast  *ast.File
}

// sources parses all files of the module that are not tests. It reads the folders rather than asking the go
// command, so that files for other systems and with build tags are covered, too.
func sources(t *testing.T) (*token.FileSet, []goFile) {
	t.Helper()
	root := "../.."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("no module there: %v", err)
	}
	fset := token.NewFileSet()
	var files []goFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			// A program of its own module, such as an interop peer, is no part of ours.
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != root && err == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		pkg := ""
		if i := strings.LastIndexByte(rel, '/'); i >= 0 {
			pkg = rel[:i]
		}
		files = append(files, goFile{rel, pkg, parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files found", len(files))
	}
	return fset, files
}

func imports(f *ast.File) []string {
	paths := make([]string, len(f.Imports))
	for i, spec := range f.Imports {
		paths[i] = strings.Trim(spec.Path.Value, "`\"")
	}
	return paths
}

// allowed returns what a package may import, and whether it is on a floor at all. An internal package is
// on the floor of the one that it belongs to, unless it is named itself.
func allowed(pkg string) ([]string, bool) {
	if list, ok := floors[pkg]; ok {
		return list, true
	}
	for name, list := range floors {
		if covers(name, pkg) {
			return list, true
		}
	}
	owner, _, _ := strings.Cut(pkg, "/internal/")
	list, ok := floors[owner]
	return list, ok
}

// covers reports whether a name of the table stands for a package.
func covers(name, pkg string) bool {
	prefix, tree := strings.CutSuffix(name, "/...")
	return name == pkg || tree && (pkg == prefix || strings.HasPrefix(pkg, prefix+"/"))
}

// violation says what is wrong with an import, or "".
func violation(pkg, path string) string {
	if ours, ok := strings.CutPrefix(path+"/", module+"/"); ok {
		ours = strings.TrimSuffix(ours, "/")
		list, known := allowed(pkg)
		if !known {
			return "is on no floor: add it to the table"
		}
		// The go command keeps internal packages within their owner's tree.
		if owner, _, internal := strings.Cut(ours, "/internal/"); internal && covers(owner+"/...", pkg) {
			return ""
		}
		for _, name := range list {
			if name == "*" || covers(name, ours) {
				return ""
			}
		}
		return "may not import " + path
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for _, dep := range dependencies {
		if covers(dep+"/...", path) {
			return ""
		}
	}
	for dep, owner := range reserved {
		if covers(dep+"/...", path) && pkg == owner {
			return ""
		}
	}
	return "imports " + path + ", which is not among the dependencies"
}

func TestPackagesImportLowerFloorsOnly(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		if _, known := allowed(f.pkg); !known {
			t.Errorf("%s: package %q is on no floor: add it to the table", f.path, f.pkg)
			continue
		}
		for _, path := range imports(f.ast) {
			if what := violation(f.pkg, path); what != "" {
				t.Errorf("%s: package %q %s", f.path, f.pkg, what)
			}
		}
	}
}

// TestTheFloorTestCanFail keeps the test above from passing for the wrong reason.
func TestTheFloorTestCanFail(t *testing.T) {
	for _, c := range []struct {
		pkg, path string
		ok        bool
	}{
		{"actors", "sync", true},
		{"actors", module + "/codec", false},
		{"codec", module + "/codec/ua", false},
		{"codec/ua", module + "/codec", true},
		{"codec/ua", module + "/codec/ua/internal/x", true},
		{"codec/uasc", module + "/pki", false},
		{"pki", module + "/codec", false},
		{"pki", module + "/codec/ua", true},
		{"addrspace", module + "/channelactor", false},
		{"publishloop", module + "/channelactor", false},
		{"sessionactor", module + "/publishloop", true},
		{"sessionactor", module, false},
		{"", module + "/sessionactor", true},
		{"", module + "/client", false},
		{"client", module, false},
		{"client", module + "/addrspace", false},
		{"client", module + "/codec/uasc", true},
		{"cmd/demo", module, true},
		{"test/soak", module + "/client", true},
		{"newcomer", module + "/codec", false},
		{"client/internal/x", module + "/codec/ua", true},
		{"client/internal/x", module + "/addrspace", false},
		{"pki", "github.com/rs/zerolog", true},
		{"pki", "github.com/rs/zerologist", false},
		{"client", "github.com/stranger/module", false},
		{"metrics", "github.com/prometheus/client_golang/prometheus", true},
		{"", "github.com/prometheus/client_golang/prometheus", false},
		{"metrics", module, true},
		{"", module + "/metrics", false},
	} {
		if what := violation(c.pkg, c.path); (what == "") != c.ok {
			t.Errorf("%q importing %q: %q, want allowed=%v", c.pkg, c.path, what, c.ok)
		}
	}
}

// TestNoTwoFloorsImportEachOther checks the table itself: a permission must never close a circle.
func TestNoTwoFloorsImportEachOther(t *testing.T) {
	var names []string
	for name := range floors {
		if !slices.Contains(floors[name], "*") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	const (
		unseen = iota
		open
		done
	)
	state := make(map[string]int)
	var visit func(string, []string)
	visit = func(name string, path []string) {
		path = append(path, name)
		switch state[name] {
		case open:
			t.Errorf("circle: %s", strings.Join(path, " -> "))
			return
		case done:
			return
		}
		state[name] = open
		for _, target := range names {
			if target != name && slices.ContainsFunc(floors[name], func(p string) bool { return covers(p, target) }) {
				visit(target, path)
			}
		}
		state[name] = done
	}
	for _, name := range names {
		visit(name, nil)
	}
}

// TestEveryPackageSaysWhatItIsFor wants a doc comment, in whole sentences.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	_, files := sources(t)
	docs := make(map[string][]string)
	names := make(map[string]string)
	for _, f := range files {
		names[f.pkg] = f.ast.Name.Name
		if f.ast.Doc != nil {
			docs[f.pkg] = append(docs[f.pkg], f.ast.Doc.Text())
		} else if _, ok := docs[f.pkg]; !ok {
			docs[f.pkg] = nil
		}
	}
	for pkg, texts := range docs {
		want := "Package " + names[pkg] + " "
		if names[pkg] == "main" {
			want = "Command "
			if !strings.HasPrefix(pkg, "cmd/") {
				want = "" // a program for our own use
			}
		}
		switch {
		case len(texts) == 0:
			t.Errorf("package %q has no doc comment", pkg)
		case len(texts) > 1:
			t.Errorf("package %q has %d doc comments, which godoc joins in the order of the files' names", pkg, len(texts))
		case !strings.HasPrefix(texts[0], want):
			first, _, _ := strings.Cut(texts[0], "\n")
			t.Errorf("the doc comment of package %q begins with %q, want %q", pkg, first, want)
		case len(strings.Fields(texts[0])) < 8:
			t.Errorf("the doc comment of package %q says too little: %q", pkg, texts[0])
		}
	}
}

// generatedHeader is the line by which tools know generated files (go help generate).
var generatedHeader = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestGeneratedFilesAreMarked(t *testing.T) {
	_, files := sources(t)
	generated := 0
	for _, f := range files {
		marked := false
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				marked = marked || c.Pos() < f.ast.Package && generatedHeader.MatchString(c.Text)
			}
		}
		named := strings.HasSuffix(f.path, "_gen.go")
		switch {
		case named && !marked:
			t.Errorf("%s lacks the header of generated files", f.path)
		case marked && !named:
			t.Errorf("%s is generated; its name has to end in _gen.go", f.path)
		case named:
			generated++
		}
	}
	if generated == 0 {
		t.Error("no generated file found")
	}
}

// TestGoroutinesStartInGroups: a goroutine that no actors.Group knows of is not counted, and Close does
// not wait for it. Programs and tests do as they like.
func TestGoroutinesStartInGroups(t *testing.T) {
	fset, files := sources(t)
	for _, f := range files {
		if f.pkg == "actors" || covers("cmd/...", f.pkg) || covers("test/...", f.pkg) || covers("codec/internal/...", f.pkg) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if stmt, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine by itself: use actors.Group", fset.Position(stmt.Pos()))
			}
			return true
		})
	}
}
