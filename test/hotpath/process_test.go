package hotpath

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// serverVariable is set in the environment of this program where it is the
// server.
const serverVariable = "UAHIVE_HOTPATH_SERVER"

// counter returns how many objects and bytes have been allocated so far.
type counter func() (objects, bytes uint64)

// allocated counts in this process.
func allocated() (objects, bytes uint64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs, m.TotalAlloc
}

// held is what is in use in this process after a collection. What pools keep
// is gone after the second.
func held() (heap, stacks uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse
}

// garbage is what is allocated for each unit of the work that run does.
func garbage(count counter, units int, run func()) (objects, bytes float64) {
	objectsBefore, bytesBefore := count()
	run()
	objectsAfter, bytesAfter := count()
	return float64(objectsAfter-objectsBefore) / float64(units), float64(bytesAfter-bytesBefore) / float64(units)
}

// startServer runs the server in a process of its own, so that nothing of what
// the client allocates counts. It ends with the test.
func startServer(t testing.TB) (endpoint string, count counter) {
	t.Helper()
	endpoint, ask := startAnswering(t)
	return endpoint, func() (objects, bytes uint64) { return ask("allocated") }
}

// startAnswering is startServer with all that the server can be asked: what it
// has "allocated", in objects and bytes, and what it has "held" since a
// collection, in bytes of heap and of stacks.
func startAnswering(t testing.TB) (endpoint string, ask func(question string) (uint64, uint64)) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(program)
	server.Env = append(os.Environ(), serverVariable+"=1")
	server.Stderr = os.Stderr
	input, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close() // the server ends with its input
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	answers := bufio.NewReader(said)
	if _, err := fmt.Fscanln(answers, &endpoint); err != nil {
		t.Fatal(err)
	}
	return endpoint, func(question string) (first, second uint64) {
		if _, err := fmt.Fprintln(input, question); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscanln(answers, &first, &second); err != nil {
			t.Fatal(err)
		}
		return first, second
	}
}

// serveParent is the server of startAnswering. It tells its endpoint, answers
// each line, and ends with its input.
func serveParent() error {
	srv, err := newServer()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.ServeListener(ctx, l) }()
	fmt.Printf("opc.tcp://%s\n", l.Addr())
	for lines := bufio.NewReader(os.Stdin); ; {
		question, err := lines.ReadString('\n')
		if err != nil {
			cancel()
			if err != io.EOF {
				return err
			}
			return <-done
		}
		if strings.TrimSpace(question) == "held" {
			fmt.Println(held())
			continue
		}
		fmt.Println(allocated())
	}
}
