package main

import (
	"math/rand/v2"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

const (
	// fewNodes is the largest range of nodes that requests name in order.
	fewNodes = 1000
	// preparedNodes bounds how many nodes are named by all prepared requests
	// together, so that they do not fill the memory.
	preparedNodes = 200_000
)

// named says which nodes the prepared requests of a load name: for each request
// the places in the range. Requests follow each other through a small range, so
// that clients and slots begin at different nodes. In a large one they are drawn,
// so that the server finds no order in what it has to look up; the same ones in
// each run.
func named(r nodeRange, nodes int) [][]int {
	requests := max(min((r.count+nodes-1)/nodes, preparedNodes/nodes), 1)
	if r.count <= fewNodes {
		requests = max(min(r.count/divisor(r.count, nodes), preparedNodes/nodes), 1)
	}
	drawn := rand.New(rand.NewPCG(1, 2))
	lists := make([][]int, requests)
	for i := range lists {
		lists[i] = make([]int, nodes)
		for j := range lists[i] {
			if r.count <= fewNodes {
				lists[i][j] = (i*nodes + j) % r.count
			} else {
				lists[i][j] = drawn.IntN(r.count)
			}
		}
	}
	return lists
}

// divisor is the greatest common one.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// prepare encodes requests.
func prepare[T ua.Structure](requests []T) ([]*client.Prepared, error) {
	prepared := make([]*client.Prepared, len(requests))
	for i, r := range requests {
		var err error
		if prepared[i], err = client.Prepare(r); err != nil {
			return nil, err
		}
	}
	return prepared, nil
}
