package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// readFile reads a file of the store, up to a bound. Its errors do not name the file.
func readFile(path string) ([]byte, error) {
	content, err := readBounded(path)
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = fmt.Errorf("cannot be read: %w", pathErr.Err)
	}
	return content, err
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return os.ReadFile(path)
}

// writeNew creates a file that is complete whenever it is seen, and fails with [fs.ErrExist] when it is
// there already.
func writeNew(path string, content []byte, mode fs.FileMode) error {
	temp, err := writeTemp(path, content, mode)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }()
	err = os.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// Some file systems have no links. There, two starts at the same moment are left to chance.
	if _, err := os.Stat(path); err == nil {
		return fs.ErrExist
	}
	return os.Rename(temp, path)
}

// writeOver creates or replaces a file, which is complete whenever it is seen.
func writeOver(path string, content []byte, mode fs.FileMode) error {
	temp, err := writeTemp(path, content, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return nil
}

// tempPrefix marks files under construction, which a scan leaves out.
const tempPrefix = ".tmp-"

func writeTemp(path string, content []byte, mode fs.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
