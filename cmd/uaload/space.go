package main

import (
	"fmt"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// The address space of the o6 OPC UA benchmarks, in namespace 1: 100 writable
// Int32 variables, and Int32 arrays; and what the benchmarks of this project add.
const (
	firstScalar = 1001
	scalars     = 100

	hundred     = 1000    // a folder with the scalars and nothing else
	firstMore   = 100_001 // the variables of -nodes
	moreFolder  = 10_000  // the folder of the folders that they are in
	firstFolder = 10_001
	perFolder   = 1000
)

// fill adds the benchmark's nodes. Each of sizes is the length of an array, and
// more the number of further scalars.
func fill(space *addrspace.Space, sizes []int, more int) error {
	objects, organizes := ua.NumericID(0, id.ObjectsFolder), ua.NumericID(0, id.Organizes)
	variable := func(number int, name string, parent ua.NodeID, value ua.Variant) error {
		_, err := space.AddNode(addrspace.NodeSpec{
			ID: ua.NumericID(1, uint32(number)), Class: ua.NodeClassVariable,
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: name},
			Parent:     parent, ReferenceType: organizes,
			Value: value, AccessLevel: addrspace.ReadWrite,
		})
		return err
	}
	folder := func(number int, name string, parent ua.NodeID) (ua.NodeID, error) {
		node := ua.NumericID(1, uint32(number))
		_, err := space.AddNode(addrspace.NodeSpec{
			ID: node, Class: ua.NodeClassObject, TypeDefinition: ua.NumericID(0, id.FolderType),
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: name},
			Parent:     parent, ReferenceType: organizes,
		})
		return node, err
	}
	same, err := folder(hundred, "Benchmark", objects)
	if err != nil {
		return err
	}
	for i := range scalars {
		if err := variable(firstScalar+i, fmt.Sprint("BenchmarkValue", i), objects, ua.VariantOf(int32(i))); err != nil {
			return err
		}
		if err := space.AddReference(same, organizes, ua.NumericID(1, uint32(firstScalar+i))); err != nil {
			return err
		}
	}
	for i, n := range sizes {
		values := make([]int32, n)
		for j := range values {
			values[j] = int32(j)
		}
		if err := variable(firstArray+i, fmt.Sprint("BenchmarkArray", n), objects, ua.SliceVariant(values)); err != nil {
			return err
		}
	}
	if more == 0 {
		return nil
	}
	top, err := folder(moreFolder, "More", objects)
	if err != nil {
		return err
	}
	var parent ua.NodeID
	for i := range more {
		if i%perFolder == 0 {
			if parent, err = folder(firstFolder+i/perFolder, fmt.Sprint("More", i/perFolder), top); err != nil {
				return err
			}
		}
		if err := variable(firstMore+i, fmt.Sprint("More", i), parent, ua.VariantOf(int32(i))); err != nil {
			return err
		}
	}
	return nil
}
