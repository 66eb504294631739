package main

import (
	"context"
	"io"
	"strconv"
)

// The elements of an image with one Int32 for each pixel: 1280 x 720, and
// 3840 x 2160.
const (
	hd      = 1280 * 720
	fourK   = 3840 * 2160
	sizeHD  = "hd"
	size4K  = "4k"
	opRead  = "read"
	opWrite = "write"
)

// loadArray reads or writes one large array.
func loadArray(ctx context.Context, c *command, args []string, out io.Writer) error {
	f := new(valueFlags)
	var size, op string
	set := c.flags()
	f.target.add(set)
	f.shape.add(set, 1, "arrays in each request: the same one, so many times")
	set.StringVar(&size, "size", sizeHD, "hd for 921,600 elements, 4k for 8,294,400, or their `number`")
	set.StringVar(&op, "op", opRead, "read or write")
	node := set.String("node", "", "`node` with the array; default: the one of the benchmark's nodes that has the size")
	if err := parse(set, args); err != nil {
		return err
	}
	switch size {
	case sizeHD:
		f.array = hd
	case size4K:
		f.array = fourK
	default:
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return wrong("size", size, `write "hd", "4k", or a number of elements`)
		}
		f.array = n
	}
	plan := readWork
	if op == opWrite {
		plan = writeWork
	} else if op != opRead {
		return wrong("op", op, `write "read" or "write"`)
	}
	f.text, f.count = *node, 1
	if *node == "" {
		f.text = "ns=1;i=" + strconv.Itoa(firstArray)
	}
	if err := f.check(); err != nil {
		return err
	}
	return f.run(ctx, c, out, *node != "", op, plan)
}
