package model

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// StatusCode is a name of the standard with its value.
type StatusCode struct {
	Name  string
	Value uint32
}

var statusLine = regexp.MustCompile(`name: "(\w+)",\s*value: (0x[0-9a-fA-F]+)`)

func readStatusCodes(path string) ([]StatusCode, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []StatusCode
	seen := map[string]bool{}
	for _, m := range statusLine.FindAllSubmatch(content, -1) {
		value, err := strconv.ParseUint(string(m[2]), 0, 32)
		if err != nil {
			return nil, fmt.Errorf("model: status code %s: %w", m[1], err)
		}
		if name := string(m[1]); !seen[name] {
			seen[name] = true
			out = append(out, StatusCode{name, uint32(value)})
		}
	}
	slices.SortFunc(out, func(a, b StatusCode) int { return int(int64(a.Value) - int64(b.Value)) })
	for i := 1; i < len(out); i++ {
		if out[i].Value == out[i-1].Value {
			return nil, fmt.Errorf("model: status codes %s and %s are both %#x", out[i-1].Name, out[i].Name, out[i].Value)
		}
	}
	return out, nil
}

// NodeIDName is a symbolic name of the standard with its number in namespace 0.
type NodeIDName struct {
	Name string
	ID   uint32
	Type bool // a data type, not an instance or a part of a type
}

func readNodeIDs(path string) ([]NodeIDName, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("model: NodeIds.csv: %w", err)
	}
	var out []NodeIDName
	for _, row := range rows {
		id, err := strconv.ParseUint(row[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("model: NodeIds.csv: %s: %w", row[0], err)
		}
		out = append(out, NodeIDName{row[0], uint32(id), row[2] == "DataType"})
	}
	return out, nil
}

var (
	constantGroup = regexp.MustCompile(`^\s*export enum (\w+)`)
	constantLine  = regexp.MustCompile(`^\s*(\w+)\s*=\s*(\d+)\s*,?`)
)

func readConstants(path string) ([]NodeIDName, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []NodeIDName
	group := ""
	for line := range strings.Lines(string(content)) {
		if m := constantGroup.FindStringSubmatch(line); m != nil {
			group = m[1]
		} else if m := constantLine.FindStringSubmatch(line); m != nil {
			id, err := strconv.ParseUint(m[2], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("model: constant %s: %w", m[1], err)
			}
			out = append(out, NodeIDName{m[1], uint32(id), group == "DataTypeIds"})
		}
	}
	return out, nil
}
