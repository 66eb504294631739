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
	"strconv"
	"strings"
	"testing"
)

// threats says how many rows each group of the list of threats has.
var threats = map[string]int{"T": 7, "S": 18, "D": 11, "U": 13, "V": 16, "R": 7}

var (
	threatRow    = regexp.MustCompile(`^\| ([A-Z])([0-9]+) \|`)
	threatTest   = regexp.MustCompile("`((?:[a-z]+/)*[a-z]*)\\.?(Test[A-Za-z0-9_]+|Fuzz[A-Za-z0-9_]+)`")
	threatInName = regexp.MustCompile(`_([A-Z][0-9]+)(?:_|$)`)
)

// threatTable reads the table of SECURITY.md: for each id the tests of its row, as
// "folder.TestName" with the root as ".TestName".
func threatTable(t *testing.T, text string) map[string][]string {
	t.Helper()
	rows := make(map[string][]string)
	for line := range strings.Lines(text) {
		m := threatRow.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		id := m[1] + m[2]
		if n, err := strconv.Atoi(m[2]); err != nil || n < 1 || n > threats[m[1]] {
			t.Errorf("SECURITY.md has a row %s, which is no threat", id)
		}
		if _, twice := rows[id]; twice {
			t.Errorf("SECURITY.md has two rows %s", id)
		}
		rows[id] = []string{}
		for _, name := range threatTest.FindAllStringSubmatch(line, -1) {
			rows[id] = append(rows[id], name[1]+"."+name[2])
		}
	}
	return rows
}

// testFunctions returns the test and fuzz functions of the module, as
// "folder.TestName", whatever tags their files have.
func testFunctions(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel("../..", filepath.Dir(path))
		if err != nil {
			return err
		}
		folder = strings.TrimPrefix(filepath.ToSlash(folder), ".")
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				names = append(names, folder+"."+f.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// idsIn returns the ids of threats that the name of a test holds.
func idsIn(name string) []string {
	_, name, _ = strings.Cut(name, ".")
	rest, ok := strings.CutPrefix(name, "TestThreat")
	if !ok {
		return nil
	}
	var ids []string
	for {
		m := threatInName.FindStringSubmatchIndex(rest)
		if m == nil || m[0] != 0 {
			return ids
		}
		ids = append(ids, rest[m[2]:m[3]])
		rest = rest[m[3]:]
	}
}

// TestEveryThreatHasItsTests: SECURITY.md has a row for each threat, each row names
// tests that exist and whose names hold its id, or says why there is none; and no
// test of a threat is missing there.
func TestEveryThreatHasItsTests(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, tests := threatTable(t, string(text)), testFunctions(t)
	for group, n := range threats {
		for i := 1; i <= n; i++ {
			id := group + strconv.Itoa(i)
			named, ok := rows[id]
			if !ok {
				t.Errorf("SECURITY.md has no row %s", id)
			}
			held := false
			for _, name := range named {
				if !slices.Contains(tests, name) {
					t.Errorf("row %s names %s, which does not exist", id, name)
				}
				held = held || slices.Contains(idsIn(name), id)
			}
			reason := strings.Contains(string(text), "| "+id+" |") && regexp.MustCompile(`(?m)^\| `+id+` \|.*No test: `).Match(text)
			switch {
			case reason && len(named) > 0 && held:
				t.Errorf("row %s has tests and says that it has none", id)
			case !reason && !held:
				t.Errorf("row %s names no test whose name holds it, and no reason", id)
			}
		}
	}
	for _, name := range tests {
		for _, id := range idsIn(name) {
			if !slices.Contains(rows[id], name) {
				t.Errorf("SECURITY.md does not name %s in row %s", name, id)
			}
		}
	}
}

func TestThreatNamesAreRead(t *testing.T) {
	for name, want := range map[string][]string{
		"test/attack.TestThreat_T4_MessageSizes": {"T4"}, ".TestThreat_V12_R2_Calls": {"V12", "R2"}, "x.TestThreat_S10": {"S10"},
		"x.TestThreat_Names_S1": nil, "x.TestOther_S1_": nil, "x.TestThreat_S5_S6_S7_Sequence": {"S5", "S6", "S7"},
	} {
		if got := idsIn(name); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	rows := threatTable(t, "| T1 | a | `test/attack.TestThreat_T1_A`, `.TestThreat_T1_B` |\n| T2 | No test: none |\n")
	if !slices.Equal(rows["T1"], []string{"test/attack.TestThreat_T1_A", ".TestThreat_T1_B"}) || len(rows["T2"]) != 0 || len(rows) != 2 {
		t.Errorf("%v", rows)
	}
}
