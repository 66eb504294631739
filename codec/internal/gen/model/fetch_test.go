package model

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

func TestExtractTakesTheWantedFilesAndMissesTheLost(t *testing.T) {
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	tw := tar.NewWriter(zw)
	for name, content := range map[string]string{"package/a": "one", "package/b": "two"} {
		if err := tw.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if tw.Close() != nil || zw.Close() != nil {
		t.Fatal("archive")
	}
	target := filepath.Join(t.TempDir(), "out")
	if err := extract(bytes.NewReader(packed.Bytes()), "p", map[string]string{"package/b": target}); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(target); err != nil || string(content) != "two" {
		t.Fatalf("%s, %v", content, err)
	}
	if err := extract(bytes.NewReader(packed.Bytes()), "p", map[string]string{"package/c": target}); err == nil {
		t.Fatal("a missing file was not noticed")
	}
}
