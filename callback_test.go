package uahive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// clientWrite writes as the Write service does.
func clientWrite[T any](v *Variable[T], value ua.Variant, rng string) ua.StatusCode {
	r, _ := ua.ParseNumericRange(rng)
	if rng == "" {
		r = nil
	}
	dv, code := v.cell.PrepareWrite(&ua.DataValue{Value: value}, r)
	if code != ua.Good {
		return code
	}
	src := v.cell.Source()
	if code := ua.StatusOf(src.Write(context.Background(), dv, r)); code.IsBad() || src.Read != nil {
		return code
	}
	if code := v.cell.CommitWrite(dv, r); code != ua.Good || src.Stored == nil {
		return code
	}
	src.Stored(context.Background(), dv, r)
	return ua.Good
}

func TestOnWriteSeesOldAndNewAndMayVeto(t *testing.T) {
	s, ns := newModel(t)
	var asked [][2]float64
	v := AddVariable(ns, "V", 10.0, OnWrite(func(_ context.Context, old, new float64) error {
		asked = append(asked, [2]float64{old, new})
		if new > 100 {
			return fmt.Errorf("too hot: %w", ua.BadOutOfRange)
		}
		return nil
	}))
	noErr(t, s)
	if code := clientWrite(v, ua.DoubleVariant(20), ""); code != ua.Good || v.Get() != 20 {
		t.Errorf("%v, value %v", code, v.Get())
	}
	if code := clientWrite(v, ua.DoubleVariant(200), ""); code != ua.BadOutOfRange || v.Get() != 20 {
		t.Errorf("%v, value %v", code, v.Get())
	}
	if want := [][2]float64{{10, 20}, {20, 200}}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
}

func TestAfterWriteSeesWhatIsStored(t *testing.T) {
	s, ns := newModel(t)
	var seen []string
	var v *Variable[[]int32]
	v = AddVariable(ns, "V", []int32{1, 2, 3},
		OnWrite(func(_ context.Context, _, new []int32) error {
			if new[0] < 0 {
				return ua.BadOutOfRange
			}
			return nil
		}),
		AfterWrite(func(_ context.Context, value []int32) { seen = append(seen, fmt.Sprint(value, v.Get())) }))
	panics := AddVariable(ns, "P", 1.5, AfterWrite(func(context.Context, float64) { panic("oil") }))
	noErr(t, s)
	clientWrite(v, ua.SliceVariant([]int32{4, 5, 6}), "")
	clientWrite(v, ua.SliceVariant([]int32{7}), "1")
	clientWrite(v, ua.SliceVariant([]int32{-1}), "")
	v.Set([]int32{9})
	if want := []string{"[4 5 6] [4 5 6]", "[4 7 6] [4 7 6]"}; !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
	if code := clientWrite(panics, ua.DoubleVariant(2), ""); code != ua.Good || panics.Get() != 2 {
		t.Errorf("%v, value %v", code, panics.Get())
	}
	// A status without a value is not the zero value.
	panics.cell.Source().Stored(t.Context(), ua.DataValue{Status: ua.BadTimeout}, nil)
	if s.model.panics.Load() != 1 {
		t.Errorf("%d panics", s.model.panics.Load())
	}
}

func TestOnWriteOfAPartSeesWholeArrays(t *testing.T) {
	s, ns := newModel(t)
	var old, new []int32
	v := AddVariable(ns, "V", []int32{1, 2, 3, 4}, OnWrite(func(_ context.Context, o, n []int32) error {
		old, new = o, n
		n[0] = 77 // the program's own copy
		return nil
	}))
	noErr(t, s)
	if code := clientWrite(v, ua.SliceVariant([]int32{8, 9}), "1:2"); code != ua.Good {
		t.Fatal(code)
	}
	if !reflect.DeepEqual(old, []int32{1, 2, 3, 4}) || !reflect.DeepEqual(new, []int32{77, 8, 9, 4}) {
		t.Errorf("old %v, new %v", old, new)
	}
	if got := v.Get(); !reflect.DeepEqual(got, []int32{1, 8, 9, 4}) {
		t.Errorf("stored %v", got)
	}
	if code := clientWrite(v, ua.SliceVariant([]int32{8}), "9"); code != ua.BadIndexRangeNoData {
		t.Errorf("a part that is not there: %v", code)
	}
}

func TestOnWriteIsNotAskedAboutAStatusAlone(t *testing.T) {
	s, ns := newModel(t)
	v := AddVariable(ns, "V", 1.5, OnWrite(func(context.Context, float64, float64) error {
		t.Error("asked")
		return nil
	}))
	noErr(t, s)
	err := v.cell.Source().Write(context.Background(), ua.DataValue{Status: ua.BadTimeout}, nil)
	if ua.StatusOf(err) != ua.BadWriteNotSupported {
		t.Errorf("%v", err)
	}
}

func TestOnReadProducesTheValue(t *testing.T) {
	s, ns := newModel(t)
	device := 1.5
	var fail error
	v := AddVariable(ns, "V", 0.0,
		OnRead(func(context.Context) (float64, error) { return device, fail }),
		OnWrite(func(_ context.Context, old, new float64) error {
			if old != device {
				t.Errorf("old value %v, the device has %v", old, device)
			}
			device = new
			return nil
		}))
	noErr(t, s)
	read := func() ua.DataValue {
		dv, err := v.cell.Source().Read(context.Background())
		if err != nil {
			return ua.DataValue{Status: ua.StatusOf(err)}
		}
		return dv
	}
	if code := clientWrite(v, ua.DoubleVariant(2.5), ""); code != ua.Good {
		t.Fatal(code)
	}
	if dv := read(); !dv.Value.Equal(ua.DoubleVariant(2.5)) || dv.Status != ua.Good {
		t.Errorf("read %v", dv)
	}
	fail = ua.UncertainLastUsableValue
	if dv := read(); !dv.Value.Equal(ua.DoubleVariant(2.5)) || dv.Status != ua.UncertainLastUsableValue {
		t.Errorf("an uncertain value: %v", dv)
	}
	fail = ua.BadCommunicationError
	if dv := read(); !dv.Value.IsNull() || dv.Status != ua.BadCommunicationError {
		t.Errorf("a bad value: %v", dv)
	}
	if code := clientWrite(v, ua.DoubleVariant(3), ""); code != ua.BadCommunicationError {
		t.Errorf("a write that cannot know the old value: %v", code)
	}
}

func TestPanicsOfCallbacksCostTheirOperation(t *testing.T) {
	s, ns := newModel(t)
	v := AddVariable(ns, "V", 0, Inline(),
		OnRead(func(context.Context) (int, error) { panic("read") }),
		OnWrite(func(context.Context, int, int) error { panic("write") }))
	w := AddVariable(ns, "W", 0, OnWrite(func(context.Context, int, int) error { panic("write") }))
	noErr(t, s)
	if _, err := v.cell.Source().Read(context.Background()); ua.StatusOf(err) != ua.BadInternalError {
		t.Errorf("read: %v", err)
	}
	if code := clientWrite(w, ua.Int64Variant(1), ""); code != ua.BadInternalError || w.Get() != 0 {
		t.Errorf("write: %v", code)
	}
	if !v.cell.Source().Inline || w.cell.Source().Inline {
		t.Error("Inline is not what was asked for")
	}
}

// What a client must not learn is in the log; and a callback that is polled does
// not fill the log.
func TestUnknownErrorsAreLoggedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ns := newModel(t)
		var log bytes.Buffer
		s.log = zerolog.New(&log)
		v := AddVariable(ns, "V", 0, OnRead(func(context.Context) (int, error) { return 0, errors.New("no oil") }))
		noErr(t, s)
		for range 25 {
			if _, err := v.cell.Source().Read(t.Context()); ua.StatusOf(err) != ua.BadInternalError {
				t.Errorf("%v", err)
			}
			synctestSleep()
		}
		if got := strings.Count(log.String(), "no oil"); got != 3 {
			t.Errorf("%d lines in 2.5 s:\n%s", got, log.String())
		}
		if !strings.Contains(log.String(), `"node":"V"`) {
			t.Error(log.String())
		}
	})
}

// A call that its client gave up is no failure of the program's.
func TestCallbacksThatEndWithTheirCallAreNoErrorsInTheLog(t *testing.T) {
	s, ns := newModel(t)
	var log bytes.Buffer
	s.log = zerolog.New(&log).Level(zerolog.InfoLevel)
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("asking the device: %w", ctx.Err())
	}
	v := AddVariable(ns, "V", 0, OnRead(func(ctx context.Context) (int, error) { return 0, wait(ctx) }))
	m := AddMethod(ns.Object("O"), "M", func(ctx context.Context, _ struct{}) (out struct{}, err error) { return out, wait(ctx) })
	late := AddVariable(ns, "L", 0, OnRead(func(context.Context) (int, error) { return 0, context.DeadlineExceeded }))
	noErr(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.cell.Source().Read(ctx); ua.StatusOf(err) == ua.Good {
		t.Error("good")
	}
	if err := m.at.Method().Func(ctx, &addrspace.Call{}); ua.StatusOf(err) == ua.Good {
		t.Error("good")
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", log.String())
	}
	if _, err := late.cell.Source().Read(t.Context()); ua.StatusOf(err) == ua.Good || !strings.Contains(log.String(), "callback failed") {
		t.Errorf("a timeout of the program's own: %v, log %q", err, log.String())
	}
}

func TestCallerOfAForeignContext(t *testing.T) {
	caller, ok := CallerFrom(context.Background())
	if ok || caller.User == nil {
		t.Errorf("%v %v", caller, ok)
	}
}
