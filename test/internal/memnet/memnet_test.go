package memnet

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pair(t *testing.T, buffer int) (server, client net.Conn) {
	t.Helper()
	l := Listen()
	l.Buffer = buffer
	client, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return server, client
}

func TestBytesArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := pair(t, 10)
		sent := bytes.Repeat([]byte("0123456789abc"), 100)
		go func() {
			client.Write(sent)
			client.Close()
		}()
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := server.Write([]byte{1}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("writing to who has closed: %v", err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := pair(t, 4)
		start := time.Now()
		server.SetReadDeadline(start.Add(time.Second))
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("read: %v after %v", err, time.Since(start))
		}
		client.SetWriteDeadline(start.Add(3 * time.Second))
		if n, err := client.Write(make([]byte, 5)); n != 4 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("write: %d, %v after %v", n, err, time.Since(start))
		}
		// A deadline that moves while somebody waits counts, in both directions.
		server.SetReadDeadline(time.Time{})
		io.ReadFull(server, make([]byte, 4))
		go func() {
			time.Sleep(time.Second)
			server.SetReadDeadline(time.Now().Add(-time.Second))
		}()
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 4*time.Second {
			t.Errorf("read: %v after %v", err, time.Since(start))
		}
		server.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Second)
			client.SetDeadline(time.Time{})
			client.Write([]byte{1})
		}()
		if n, err := server.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("read: %d, %v", n, err)
		}
	})
}

func TestCloseWakesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := pair(t, 0)
		go func() {
			time.Sleep(time.Second)
			server.Close()
		}()
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the peer closed: %v", err)
		}
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed here: %v", err)
		}
	})
}

func TestAClosedListener(t *testing.T) {
	l := Listen()
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := l.Dial(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
