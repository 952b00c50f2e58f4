package klog_test

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	klog "klog/bindings/go"
)

func TestCallsAfterCloseAreErrClosed(t *testing.T) {
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{t.TempDir()}, nil))
	log := logOf(t, manager, nil)
	must[klog.AppendResult](t)(log.Append([]klog.Record{record("k", "v"), record("k", "w")}, nil))
	cursor := must[*klog.Cursor](t)(log.Cursor(0, nil))
	other := must[*klog.Cursor](t)(log.Cursor(0, nil))
	events := must[*klog.Events](t)(manager.Events(0, 0))
	closed := must[*klog.Log](t)(manager.Log("orders", 0, nil))

	if err := errors.Join(cursor.Close(), cursor.Close(), closed.Close(), closed.Close()); err != nil {
		t.Error("closing twice", err)
	}
	_, ofCursor := cursor.Next(ctx)
	_, ofClosed := closed.EndOffset()
	if err := errors.Join(manager.Close(), manager.Close()); err != nil {
		t.Error("closing twice", err)
	}
	_, ofLog := log.EndOffset()
	_, ofAppend := log.Append([]klog.Record{record("k", "v")}, nil)
	_, ofOne := log.AppendOne(nil, nil, time.Time{})
	_, ofRead := log.ReadRaw(ctx, 0, make([]byte, 100), nil)
	_, ofOther := other.Next(ctx)
	_, ofOpen := log.Cursor(0, nil)
	_, ofInfo := manager.Info()
	_, ofManager := manager.Log("orders", 0, nil)
	_, ofEvents := events.Poll(ctx)
	_, ofClean := log.Clean(ctx, nil)
	for name, err := range map[string]error{
		"cursor": ofCursor, "closed log": ofClosed, "log": ofLog, "append": ofAppend, "append one": ofOne, "read": ofRead,
		"other cursor": ofOther, "cursor open": ofOpen, "info": ofInfo, "log open": ofManager, "events": ofEvents,
		"clean": ofClean, "seek": other.SeekTo(0), "flush": manager.Flush(), "delete": log.Delete(),
	} {
		if !errors.Is(err, klog.ErrClosed) || !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, err := range log.Records(ctx, 0) {
		if !errors.Is(err, klog.ErrClosed) {
			t.Error(err)
		}
	}
}

// All that is opened is closed, and all that is closed is given back.
func TestNothingIsLeftOpen(t *testing.T) {
	watch := opened(t, nil)
	handles := func() uint64 { return must[klog.Info](t)(watch.Info()).OpenHandles }
	before, descriptors, goroutines := handles(), openDescriptors(t), runtime.NumGoroutine()
	for range 3 {
		manager := must[*klog.Manager](t)(klog.Open(ctx, []string{t.TempDir()}, &klog.Options{NoBackground: true}))
		log := logOf(t, manager, klog.Config{"cleanup.policy": "compact"})
		must[klog.AppendResult](t)(log.Append([]klog.Record{record("k", "v")}, nil))
		for range 10 {
			must[*klog.Cursor](t)(log.Cursor(0, nil))
			must[*klog.Log](t)(manager.Log("orders", 0, nil))
			for range log.Records(ctx, 0) {
			}
		}
		must[klog.CleanResult](t)(log.Clean(t.Context(), &klog.CleanOptions{Roll: true}))
		manager.SetConfig(klog.Config{"log.dirs": "refused"})
		manager.Log("orders", 0, &klog.LogOptions{Config: klog.Config{"no.such.key": ""}})
		events := must[*klog.Events](t)(manager.Events(0, 0))
		if err := errors.Join(manager.Close(), events.Close()); err != nil {
			t.Error(err)
		}
	}
	if after := handles(); after != before {
		t.Errorf("%d handles are open, %d were", after, before)
	}
	runtime.GC()
	if now := openDescriptors(t); now > descriptors {
		t.Errorf("%d descriptors are open, %d were", now, descriptors)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines, there were %d", now, goroutines)
	}
}

func openDescriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// What is forgotten is closed when it is collected, and counted.
func TestForgottenHandlesAreClosedAndCounted(t *testing.T) {
	manager := opened(t, nil)
	log := logOf(t, manager, nil)
	handles := func() uint64 { return must[klog.Info](t)(manager.Info()).OpenHandles }
	before, leaked := handles(), klog.Leaked()
	for range 20 {
		must[*klog.Cursor](t)(log.Cursor(0, nil))
		must[*klog.Log](t)(manager.Log("orders", 0, nil))
	}
	reach(t, func() bool {
		runtime.GC()
		return handles() == before
	})
	if now := handles(); now != before || klog.Leaked()-leaked != 40 {
		t.Errorf("%d handles, before %d; leaked %d", now, before, klog.Leaked()-leaked)
	}
	runtime.KeepAlive(log)
}

// A cursor, its log and its events may be closed by another goroutine.
func TestSmallClosesRaceWithTheirCalls(t *testing.T) {
	manager := opened(t, nil)
	for round := range 100 {
		log := logOf(t, manager, nil)
		must[klog.AppendResult](t)(log.Append([]klog.Record{record("k", "v")}, nil))
		cursor := must[*klog.Cursor](t)(log.Cursor(0, nil))
		events := must[*klog.Events](t)(manager.Events(klog.EventMoved, 0))
		var all sync.WaitGroup
		var reads atomic.Int64
		all.Add(2)
		go func() {
			defer all.Done()
			for {
				reads.Add(1)
				if _, err := cursor.Next(ctx); errors.Is(err, os.ErrClosed) {
					return
				}
				cursor.SeekTo(0)
			}
		}()
		go func() {
			defer all.Done()
			if _, err := events.Poll(ctx); !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
		}()
		reach(t, func() bool { return reads.Load() >= int64(round%30) })
		if err := errors.Join(cursor.Close(), log.Close(), events.Close()); err != nil {
			t.Error(err)
		}
		all.Wait()
	}
}
