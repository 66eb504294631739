// Command ns0 writes the address space of namespace 0 as static tables into
// addrspace/ns0. It runs after the generator of package codec/ua, with whose
// types it encodes the values. See the command in the parent folder.
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
	files, err := generate(m.NodeSet)
	if err != nil {
		return err
	}
	return source.Write(filepath.Join(root, "addrspace", "ns0"), files)
}
