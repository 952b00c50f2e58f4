package klog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	klog "klog/bindings/go"
)

func TestManyGoroutinesShareBatches(t *testing.T) {
	for _, background := range []bool{false, true} {
		t.Run(fmt.Sprint("background=", background), func(t *testing.T) {
			log := logOf(t, opened(t, &klog.Options{NoBackground: !background}), nil)
			appender := must[*klog.Appender](t)(log.Appender(&klog.AppenderOptions{Append: &klog.AppendOptions{Durability: klog.Fsync}}))
			const goroutines, adds = 16, 20
			var all sync.WaitGroup
			for g := range goroutines {
				all.Add(1)
				go func() {
					defer all.Done()
					last := int64(-1)
					for n := range adds {
						key := fmt.Append(nil, g)
						ticket, err := appender.Add(within(t), klog.Record{Key: key, Value: fmt.Append(nil, n)}, klog.Record{Key: key})
						if err != nil {
							t.Error(err)
							return
						}
						result, err := ticket.Wait(within(t))
						if err != nil || result.Records != 2 || result.LastOffset != result.FirstOffset+1 || result.FirstOffset <= last {
							t.Errorf("%+v %v", result, err)
							return
						}
						last = result.LastOffset
						if again, err := ticket.Wait(within(t)); again.FirstOffset != result.FirstOffset || err != nil {
							t.Error(again, err)
						}
					}
				}()
			}
			all.Wait()
			if info := must[klog.LogInfo](t)(log.Info()); info.LogEndOffset != goroutines*adds*2 || info.RecoveryPoint != info.LogEndOffset {
				t.Errorf("%+v", info)
			}
			next := map[string]int{}
			for r, err := range log.Records(ctx, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if r.Value == nil {
					continue
				}
				if fmt.Sprint(next[string(r.Key)]) != string(r.Value) {
					t.Errorf("%s: %s, expected %d", r.Key, r.Value, next[string(r.Key)])
				}
				next[string(r.Key)]++
			}
			if err := errors.Join(appender.Close(), appender.Close()); err != nil {
				t.Error(err)
			}
			if _, err := appender.Add(ctx, klog.Record{}); !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
		})
	}
}

// slow is an appender whose batches stay open until they are full: without a thread of the library, and with all the time
// in the world.
func slow(t *testing.T, log *klog.Log, queueBytes uint64) *klog.Appender {
	return must[*klog.Appender](t)(log.Appender(&klog.AppenderOptions{Linger: time.Hour, QueueBytes: queueBytes}))
}

func TestAnAppendersCallsEndWithTheirContext(t *testing.T) {
	log := created(t, nil)
	appender := slow(t, log, 0)
	ticket := must[klog.Ticket](t)(appender.Add(ctx, record("k", "v")))
	done, cancel := context.WithCancel(within(t))
	var all sync.WaitGroup
	for range 5 {
		all.Add(1)
		go func() {
			defer all.Done()
			if _, err := ticket.Wait(done); !errors.Is(err, context.Canceled) || !errors.Is(err, klog.ErrCancelled) {
				t.Error(err)
			}
		}()
	}
	runtime.Gosched()
	cancel()
	all.Wait()
	if _, err := appender.Add(done, record("k", "v")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := appender.Flush(done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// It was on its way all the time.
	if err := appender.Flush(ctx); err != nil {
		t.Error(err)
	}
	if r, err := ticket.Wait(ctx); err != nil || r.FirstOffset != 0 || r.Records != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if none := must[klog.Ticket](t)(appender.Add(ctx)); none != (klog.Ticket{}) {
		if r, err := none.Wait(ctx); err != nil || r.FirstOffset != -1 {
			t.Error(r, err)
		}
	}
}

// Whoever finds the queue full appends what is in it.
func TestAFullQueueIsAppended(t *testing.T) {
	log := created(t, nil)
	appender := slow(t, log, 1000)
	for range 100 {
		must[klog.Ticket](t)(appender.Add(within(t), klog.Record{Value: make([]byte, 100)}))
	}
	if end := must[int64](t)(log.EndOffset()); end == 0 || end > 100 {
		t.Error(end)
	}
	if err := appender.Close(); err != nil {
		t.Error(err)
	}
	if end := must[int64](t)(log.EndOffset()); end != 100 {
		t.Error(end)
	}
}

func TestARefusedBatchFailsItsTicketsAndTheFlush(t *testing.T) {
	log := created(t, klog.Config{"max.message.bytes": "1000"})
	appender := must[*klog.Appender](t)(log.Appender(nil))
	bad := must[klog.Ticket](t)(appender.Add(ctx, klog.Record{Value: bytes.Repeat([]byte("v"), 2000)}))
	good := must[klog.Ticket](t)(appender.Add(ctx, record("k", "v")))
	var e *klog.Error
	if _, err := bad.Wait(ctx); !errors.As(err, &e) || e.Status != klog.ErrMessageTooLarge || e.Topic != "orders" {
		t.Error(err)
	}
	if r, err := good.Wait(ctx); err != nil || r.FirstOffset != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if err := appender.Flush(ctx); !errors.Is(err, klog.ErrMessageTooLarge) {
		t.Error(err)
	}
	if err := appender.Flush(ctx); err != nil {
		t.Error(err)
	}
	if _, err := log.Appender(&klog.AppenderOptions{Append: &klog.AppendOptions{Origin: klog.Replication}}); !errors.Is(err, klog.ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestWhatAnAppenderHoldsIsAppendedOrDiscarded(t *testing.T) {
	dir := t.TempDir()
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, &klog.Options{NoBackground: true}))
	log := logOf(t, manager, nil)
	discarded := slow(t, log, 0)
	ticket := must[klog.Ticket](t)(discarded.Add(ctx, record("k", "dropped")))
	if err := discarded.Discard(); err != nil {
		t.Error(err)
	}
	if _, err := ticket.Wait(ctx); !errors.Is(err, klog.ErrClosed) {
		t.Error(err)
	}
	// The manager's close appends what is left.
	left := slow(t, log, 0)
	must[klog.Ticket](t)(left.Add(ctx, record("k", "left")))
	if err := errors.Join(manager.Close(), left.Close()); err != nil {
		t.Error(err)
	}
	manager = must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, &klog.Options{NoBackground: true}))
	defer manager.Close()
	log = logOf(t, manager, nil)
	var all []string
	for r, err := range log.Records(ctx, 0) {
		if err != nil {
			t.Error(err)
		}
		all = append(all, string(r.Value))
	}
	if fmt.Sprint(all) != "[left]" {
		t.Error(all)
	}
}

// However many goroutines wait for an appender, one of them is in the library.
func TestAppendersWaitersTakeNoThreads(t *testing.T) {
	log := created(t, nil)
	appender := slow(t, log, 0)
	ticket := must[klog.Ticket](t)(appender.Add(ctx, record("k", "v")))
	before := threads(t)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var begun, all sync.WaitGroup
	for range 1000 {
		begun.Add(1)
		all.Add(1)
		go func() {
			defer all.Done()
			begun.Done()
			if r, err := ticket.Wait(ctx); err != nil || r.FirstOffset != 0 {
				t.Error(r, err)
			}
		}()
	}
	begun.Wait()
	runtime.GC()
	if now := threads(t); now > before+100 {
		t.Errorf("%d threads, %d before", now, before)
	}
	if err := appender.Flush(ctx); err != nil {
		t.Error(err)
	}
	all.Wait()
}

func TestManyLogsAreAppendedToAtOnce(t *testing.T) {
	manager := opened(t, nil)
	first := logOf(t, manager, nil)
	second := must[*klog.Log](t)(manager.Log("small", 1, &klog.LogOptions{Create: true, Config: klog.Config{"max.message.bytes": "200"}}))
	stamped := must[*klog.Log](t)(manager.Log("stamped", 0, &klog.LogOptions{Create: true, Config: klog.TopicConfig{LogAppendTime: true}.Config()}))
	var batch klog.Batch
	batch.AddKeyValue([]byte("k"), []byte("v"), time.Time{})
	items := []klog.AppendItem{
		{Log: first, Records: []klog.Record{record("a", "1"), record("b", "2")}},
		{Log: second, Records: []klog.Record{{Value: make([]byte, 300)}}},
		{Log: stamped, Batch: &batch},
		{Log: first, Batch: &batch},
		{Log: second, Records: []klog.Record{record("c", "3")}},
	}
	err := manager.AppendMany(items, &klog.AppendOptions{Durability: klog.Fsync})
	var e *klog.Error
	if !errors.As(err, &e) || e.Status != klog.ErrMessageTooLarge || e.Topic != "small" || e.Partition != 1 || e.Msg == "" || e.Kafka != 10 {
		t.Errorf("%+v", err)
	}
	if items[1].Err != err || items[1].FirstOffset != -1 {
		t.Errorf("%+v", items[1])
	}
	for i, expected := range [][2]int64{0: {0, 1}, 2: {0, 0}, 3: {2, 2}, 4: {0, 0}} {
		if item := items[i]; i != 1 && (item.Err != nil || item.FirstOffset != expected[0] || item.LastOffset != expected[1]) {
			t.Errorf("%d: %+v", i, item)
		}
	}
	if items[0].LogAppendTime != klog.NoTimestamp || time.Since(items[2].LogAppendTime) > time.Hour {
		t.Error(items[0].LogAppendTime, items[2].LogAppendTime)
	}
	if info := must[klog.LogInfo](t)(first.Info()); info.LogEndOffset != 3 || info.RecoveryPoint != 3 {
		t.Errorf("%+v", info)
	}
	if err := manager.AppendMany(items[:1], nil); err != nil || items[0].FirstOffset != 3 {
		t.Error(err, items[0])
	}
	end := int64(0)
	if err := manager.AppendMany(items[:1], &klog.AppendOptions{ExpectedLogEnd: &end}); !errors.Is(err, klog.ErrInvalidArgument) {
		t.Error(err)
	}
	if err := errors.Join(manager.AppendMany(nil, nil), manager.AppendMany([]klog.AppendItem{{}}, nil)); !errors.Is(err, klog.ErrInvalidArgument) {
		t.Error(err)
	}
}
