package main

import (
	"flag"
	"log"
	"path/filepath"

	"github.com/uahive/uahive/codec/internal/gen/model"
	"github.com/uahive/uahive/codec/internal/gen/source"
)

func main() {
	log.SetFlags(0)
	inputs := flag.String("inputs", "", "folder with the inputs; downloaded there when missing (default: user cache)")
	root := flag.String("root", "", "root of the module (default: found from the working directory)")
	flag.Parse()
	if err := run(*inputs, *root); err != nil {
		log.Fatal(err)
	}
}

func run(inputs, root string) error {
	root, err := source.Root(root)
	if err != nil {
		return err
	}
	in, err := model.Fetch(inputs)
	if err != nil {
		return err
	}
	m, err := model.Load(in)
	if err != nil {
		return err
	}
	files, err := generate(m)
	if err != nil {
		return err
	}
	return source.Write(filepath.Join(root, "codec", "ua"), files)
}

// generate returns the files of codec/ua by their path in it.
func generate(m *model.Model) (map[string]*source.File, error) {
	t, err := newTypes(m)
	if err != nil {
		return nil, err
	}
	files := map[string]*source.File{
		"enums_gen.go":    emitEnums(m.Enums),
		"status_gen.go":   emitStatus(m.StatusCodes),
		"registry_gen.go": emitRegistry(m.Structures),
		"id/ids_gen.go":   emitIDs(m.NodeIDs),
	}
	for name, list := range byTheme(m.Structures) {
		files[name] = t.emit(list)
	}
	return files, nil
}
