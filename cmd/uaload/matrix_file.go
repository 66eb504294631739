package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// matrixFile is the CSV with a line for each cell that has been run, this time
// or before.
type matrixFile struct {
	name    string
	records [][]string // without the header
	stand   map[string]bool
}

// openMatrix reads what stands in a file. One that is not there has no lines.
func openMatrix(name string) (*matrixFile, error) {
	m := &matrixFile{name: name, stand: map[string]bool{}}
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && len(text) == 0:
		return m, nil
	case err != nil:
		return nil, wrong("csv", name, "write the name of a file that can be read (%v)", err)
	case text[len(text)-1] != '\n':
		return nil, wrong("csv", name, "delete the last line, which was not written to its end, or write the name of another file")
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err == nil && !slices.Equal(lines[0], header()) {
		err = errors.New("its columns are not those of a matrix")
	}
	if err != nil {
		return nil, wrong("csv", name, "write the name of a file that uaload matrix has made, or of a new one (%v)", err)
	}
	m.records = lines[1:]
	for _, r := range m.records {
		m.stand[key(r)] = true
	}
	return m, nil
}

func header() []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names
}

// left are the cells that have no line.
func (m *matrixFile) left(cells []cell) []cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return m.stand[c.key()] })
}

// add appends the line of a cell, with a single write: a run that is ended leaves
// whole lines.
func (m *matrixFile) add(r *row) (err error) {
	file, err := os.OpenFile(m.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return wrong("csv", m.name, "write the name of a file that can be written (%v)", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	if at, err := file.Stat(); err == nil && at.Size() == 0 {
		_ = w.Write(header()) // into memory
	}
	record := r.record()
	_ = w.Write(record)
	w.Flush()
	m.records = append(m.records, record)
	m.stand[key(record)] = true
	_, err = file.Write(text.Bytes())
	return err
}

// print writes all lines as a table in Markdown, or as JSON.
func (m *matrixFile) print(out io.Writer, asJSON bool) error {
	records := slices.Clone(m.records)
	slices.SortStableFunc(records, ordered)
	if asJSON {
		objects := make([]map[string]any, len(records))
		for i, r := range records {
			objects[i] = object(r)
		}
		return json.NewEncoder(out).Encode(objects)
	}
	names := header()
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	titles := make([]string, len(shown))
	rule := make([]string, len(shown))
	for i, s := range shown {
		titles[i], rule[i] = s.title, "---"
	}
	line(titles)
	line(rule)
	for _, r := range records {
		cells := make([]string, len(shown))
		for i, s := range shown {
			cells[i] = s.of(func(name string) string { return r[slices.Index(names, name)] })
		}
		line(cells)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// ordered sorts lines by the cells that they are of.
func ordered(a, b []string) int {
	for i := range keyColumns {
		x, errX := strconv.ParseFloat(a[i], 64)
		y, errY := strconv.ParseFloat(b[i], 64)
		switch {
		case errX != nil || errY != nil:
			if n := strings.Compare(a[i], b[i]); n != 0 {
				// None first, then the secure ones.
				if a[i] == "None" {
					return -1
				} else if b[i] == "None" {
					return 1
				}
				return n
			}
		case x < y:
			return -1
		case x > y:
			return 1
		}
	}
	return 0
}

// object is a line by column; what is not known is null.
func object(record []string) map[string]any {
	fields := make(map[string]any, len(columns))
	for i, c := range columns {
		if n, err := strconv.ParseFloat(record[i], 64); err == nil {
			fields[c.name] = n
		} else if record[i] == "" && c.name != "why" {
			fields[c.name] = nil
		} else {
			fields[c.name] = record[i]
		}
	}
	return fields
}

// shown are the columns of the table, of one or more of those of the CSV.
var shown = []struct {
	title string
	of    func(get func(name string) string) string
}{
	{"security", func(get func(string) string) string {
		policy, _, _ := strings.Cut(get("security"), "/")
		return policy
	}},
	{"sessions", from("sessions", 1, 0)},
	{"subs x items each", func(get func(string) string) string {
		return get("subscriptions_per_session") + " x " + grouped(get("items_per_subscription"))
	}},
	{"items", from("items", 1, 0)},
	{"interval ms", from("publishing_interval_ms", 1, 0)},
	{"changes/s", func(get func(string) string) string { return get("changes_per_second") }},
	{"notifications/s asked", from("notifications_per_second_asked", 1, 0)},
	{"received", from("notifications_per_second", 1, 0)},
	{"server CPU %", from("server_cpu_percent", 1, 0)},
	{"us each", from("server_cpu_us_per_notification", 1, 2)},
	{"client CPU %", from("client_cpu_percent", 1, 0)},
	{"RSS MiB", from("server_rss_bytes", 1<<20, 0)},
	{"KiB per session", from("rss_bytes_per_session", 1<<10, 1)},
	{"bytes per item", from("rss_bytes_per_item", 1, 0)},
	{"delay p50, p99, max ms", func(get func(string) string) string {
		return from("delay_p50_ms", 1, 0)(get) + ", " + from("delay_p99_ms", 1, 0)(get) + ", " + from("delay_max_ms", 1, 0)(get)
	}},
	{"missing, repeated, out of order", func(get func(string) string) string {
		return grouped(get("missing")) + ", " + grouped(get("repeated")) + ", " + grouped(get("out_of_order"))
	}},
	{"errors", from("errors", 1, 0)},
	{"established/s", from("established_per_second", 1, 0)},
	{"all created s", from("create_seconds", 1, 2)},
	{"verdict", func(get func(string) string) string {
		if why := get("why"); why != "" {
			return get("verdict") + ": " + strings.ReplaceAll(why, "|", "/")
		}
		return get("verdict")
	}},
}

// from shows a number in another unit; one that is not known is a dash.
func from(name string, unit float64, digits int) func(get func(string) string) string {
	return func(get func(string) string) string {
		n, err := strconv.ParseFloat(get(name), 64)
		if err != nil {
			return "-"
		}
		return grouped(places(n/unit, digits))
	}
}

// grouped puts commas between the thousands of a number without sign.
func grouped(number string) string {
	whole, rest, _ := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}
