package klog_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	klog "klog/bindings/go"
)

// within is a context for waits that must come to an end: should one not, the test fails instead of hanging.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

type waited struct {
	end int64
	err error
}

// waiting starts a wait, and answers when it has begun to wait.
func waiting(t testing.TB, log *klog.Log, ctx context.Context, kind klog.WaitKind, offset int64) <-chan waited {
	t.Helper()
	before := klog.Waiting(log)
	answer := make(chan waited, 1)
	go func() {
		end, err := log.Wait(ctx, kind, offset)
		answer <- waited{end, err}
	}()
	reach(t, func() bool { return klog.Waiting(log) > before })
	return answer
}

// reach lets others run until something is so.
func reach(t testing.TB, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); runtime.Gosched() {
		if time.Since(begun) > time.Minute {
			t.Fatal("it did not come")
		}
	}
}

func TestAWaitEndsWhenTheRecordIsThere(t *testing.T) {
	log := created(t, nil)
	ctx := within(t)
	first, ahead := waiting(t, log, ctx, klog.WaitLogEnd, 0), waiting(t, log, ctx, klog.WaitLogEnd, 2)
	durable := waiting(t, log, ctx, klog.WaitDurable, 0)
	must[int64](t)(log.AppendOne(nil, []byte("v"), time.Time{}))
	if got := <-first; got.end != 1 || got.err != nil {
		t.Error(got)
	}
	if now, err := log.Wait(ctx, klog.WaitLogEnd, 0); now != 1 || err != nil {
		t.Error(now, err)
	}
	must[klog.AppendResult](t)(log.Append(make([]klog.Record, 2), nil))
	if got := <-ahead; got.end != 3 || got.err != nil {
		t.Error(got)
	}
	select {
	case got := <-durable:
		t.Error("nothing was flushed", got)
	default:
	}
	if err := log.Flush(-1); err != nil {
		t.Error(err)
	}
	if got := <-durable; got.end != 3 || got.err != nil {
		t.Error(got)
	}
	if n := klog.Waiting(log); n != 0 {
		t.Error(n, "are waiting")
	}
}

func TestAWaitFollowsTheEndThatItNames(t *testing.T) {
	log := must[*klog.Log](t)(opened(t, nil).Log("orders", 0, &klog.LogOptions{Create: true, ManualHighWatermark: true}))
	must[klog.AppendResult](t)(log.Append(make([]klog.Record, 1), nil))
	committed := waiting(t, log, within(t), klog.WaitHighWatermark, 0)
	stable := waiting(t, log, within(t), klog.WaitLastStable, 0)
	must[int64](t)(log.SetHighWatermark(1))
	if got := <-committed; got.end != 1 || got.err != nil {
		t.Error(got)
	}
	if got := <-stable; got.end != 1 || got.err != nil {
		t.Error(got)
	}
}

func TestWaitsEndWithTheirContextAndWithWhatTheyWaitFor(t *testing.T) {
	manager := opened(t, nil)
	log := logOf(t, manager, nil)
	must[klog.AppendResult](t)(log.Append(make([]klog.Record, 1), nil))
	must[klog.AppendResult](t)(log.Append(make([]klog.Record, 1), nil))

	ctx, cancel := context.WithCancelCause(within(t))
	ended := waiting(t, log, ctx, klog.WaitLogEnd, 5)
	why := errors.New("why")
	cancel(why)
	if got := <-ended; !errors.Is(got.err, context.Canceled) || !errors.Is(got.err, klog.ErrCancelled) || !errors.Is(got.err, why) {
		t.Error(got.err)
	}
	if _, err := log.Wait(ctx, klog.WaitLogEnd, 5); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	late, cancel2 := context.WithTimeout(within(t), time.Millisecond)
	defer cancel2()
	if _, err := log.Wait(late, klog.WaitLogEnd, 5); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}

	cut := waiting(t, log, within(t), klog.WaitDurable, 1)
	must[bool](t)(log.TruncateTo(0))
	var e *klog.Error
	if got := <-cut; !errors.As(got.err, &e) || e.Status != klog.ErrOffsetOutOfRange || e.Offset != 0 || e.Topic != "orders" || e.Msg == "" {
		t.Error(got.err)
	}
	second := must[*klog.Log](t)(manager.Log("orders", 0, nil))
	closed := waiting(t, second, within(t), klog.WaitLogEnd, 5)
	second.Close()
	if got := <-closed; !errors.Is(got.err, os.ErrClosed) {
		t.Error(got.err)
	}
	deleted := waiting(t, log, within(t), klog.WaitLogEnd, 5)
	if err := log.Delete(); err != nil {
		t.Error(err)
	}
	if got := <-deleted; !errors.Is(got.err, klog.ErrUnknownTopicOrPartition) {
		t.Error(got.err)
	}
	if _, err := log.Wait(within(t), klog.WaitLogEnd, -1); !errors.Is(err, klog.ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestClosingTheManagerWakesAllThatWait(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{t.TempDir()}, &klog.Options{NoBackground: true}))
	log := logOf(t, manager, nil)
	var all []<-chan waited
	for i := range 20 {
		all = append(all, waiting(t, log, within(t), klog.WaitLogEnd, int64(i%3)))
	}
	cursor := must[*klog.Cursor](t)(log.Cursor(0, &klog.ReadOptions{Follow: true}))
	followed := make(chan error, 1)
	go func() {
		_, err := cursor.Next(within(t))
		followed <- err
	}()
	reach(t, func() bool { return klog.Waiting(log) == 21 })
	if err := manager.Close(); err != nil {
		t.Error(err)
	}
	for _, one := range all {
		if got := <-one; !errors.Is(got.err, klog.ErrClosed) || !errors.Is(got.err, os.ErrClosed) {
			t.Error(got.err)
		}
	}
	if err := <-followed; !errors.Is(err, klog.ErrClosed) {
		t.Error(err)
	}
	if _, err := log.Wait(ctx, klog.WaitLogEnd, 0); !errors.Is(err, klog.ErrClosed) {
		t.Error(err)
	}
	reach(t, func() bool { return runtime.NumGoroutine() <= goroutines })
}

// threads is how many threads this process has.
func threads(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

// A thousand goroutines that wait are goroutines, not threads.
func TestWaitersTakeNoThreads(t *testing.T) {
	manager := opened(t, nil)
	var logs []*klog.Log
	for i := range 10 {
		log := must[*klog.Log](t)(manager.Log(fmt.Sprint("topic-", i), 0, &klog.LogOptions{Create: true}))
		answer := waiting(t, log, within(t), klog.WaitLogEnd, 0)
		must[int64](t)(log.AppendOne(nil, nil, time.Time{}))
		<-answer
		logs = append(logs, log)
	}
	before := threads(t)
	const each = 100
	ctx := within(t)
	var all sync.WaitGroup
	for _, log := range logs {
		for i := range each {
			all.Add(1)
			go func() {
				defer all.Done()
				if i%2 == 0 {
					if end, err := log.Wait(ctx, klog.WaitLogEnd, int64(1+i)); err != nil || end <= int64(1+i) {
						t.Error(end, err)
					}
					return
				}
				for r, err := range log.Follow(ctx, 1) {
					if err != nil {
						t.Error(err)
						return
					}
					if r.Offset == int64(1+i) {
						return
					}
				}
			}()
		}
	}
	reach(t, func() bool { return klog.Waiting(logs[0]) == len(logs)*each })
	// Some are the runtime's, for short calls to the library that were on their way at once; waiting they would be 1,000.
	if now := threads(t); now > before+100 {
		t.Errorf("%d threads with %d waiters, %d before", now, len(logs)*each, before)
	}
	for _, log := range logs {
		must[klog.AppendResult](t)(log.Append(make([]klog.Record, 50), nil))
		must[klog.AppendResult](t)(log.Append(make([]klog.Record, 52), nil))
	}
	all.Wait()
	if n := klog.Waiting(logs[0]); n != 0 {
		t.Error(n, "are waiting")
	}
}

// Waits that were given up leave one entry for what they waited for, not one each.
func TestWaitsForTheSameShareAnEntry(t *testing.T) {
	log := created(t, nil)
	for range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Microsecond)
		log.Wait(ctx, klog.WaitLogEnd, 7)
		cancel()
	}
	if n := klog.Armed(log); n > 1 {
		t.Error(n, "entries")
	}
}

// An entry that lapses is armed again for those who wait, and forgotten if nobody does.
func TestEntriesLapse(t *testing.T) {
	defer klog.SetLapse(1)()
	log := created(t, nil)
	ctx, cancel := context.WithCancel(within(t))
	given, kept := waiting(t, log, ctx, klog.WaitLogEnd, 7), waiting(t, log, within(t), klog.WaitLogEnd, 0)
	lapses := klog.Lapses(log)
	reach(t, func() bool { return klog.Lapses(log) > lapses+10 })
	if n := klog.Armed(log); n != 2 {
		t.Error(n, "entries")
	}
	cancel()
	<-given
	reach(t, func() bool { return klog.Armed(log) == 1 })
	must[int64](t)(log.AppendOne(nil, nil, time.Time{}))
	if got := <-kept; got.end != 1 || got.err != nil {
		t.Error(got)
	}
}

func TestFollowingGivesRecordsAsTheyCome(t *testing.T) {
	log := created(t, nil)
	cursor := must[*klog.Cursor](t)(log.Cursor(0, &klog.ReadOptions{Follow: true}))
	defer cursor.Close()
	const records = 200
	go func() {
		for i := range records {
			if i%3 == 0 {
				// The reader is at the end, and waits.
				reach(t, func() bool { return klog.Waiting(log) > 0 })
			}
			log.AppendOne(nil, fmt.Append(nil, i), time.Time{})
		}
	}()
	ctx := within(t)
	for i := range records {
		r, err := cursor.Next(ctx)
		if err != nil || r.Offset != int64(i) || string(r.Value) != fmt.Sprint(i) {
			t.Fatal(i, r, err)
		}
	}
	done, cancel := context.WithCancel(ctx)
	answer := make(chan error, 1)
	go func() {
		_, err := cursor.Next(done)
		answer <- err
	}()
	reach(t, func() bool { return klog.Waiting(log) == 1 })
	cancel()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// The cursor keeps its place.
	must[int64](t)(log.AppendOne(nil, []byte("last"), time.Time{}))
	if r := must[*klog.Record](t)(cursor.Next(ctx)); r.Offset != records || string(r.Value) != "last" {
		t.Error(r)
	}
	go func() {
		_, err := cursor.Next(ctx)
		answer <- err
	}()
	reach(t, func() bool { return klog.Waiting(log) == 1 })
	cursor.Close()
	if err := <-answer; !errors.Is(err, klog.ErrClosed) {
		t.Error(err)
	}
}

func TestReadsOfBatchesWaitForWhatTheyWant(t *testing.T) {
	log := created(t, nil)
	buf := make([]byte, 1<<20)
	read := func(opts klog.ReadOptions) <-chan klog.ReadResult {
		opts.Follow = true
		answer := make(chan klog.ReadResult, 1)
		go func() {
			r, err := log.ReadRaw(within(t), 0, buf, &opts)
			if err != nil {
				t.Error(err)
			}
			answer <- r
		}()
		reach(t, func() bool { return klog.Waiting(log) == 1 })
		return answer
	}
	any := read(klog.ReadOptions{})
	must[klog.AppendResult](t)(log.Append(make([]klog.Record, 1), nil))
	if r := <-any; r.Batches != 1 {
		t.Errorf("%+v", r)
	}
	more := read(klog.ReadOptions{MinBytes: 200})
	for range 2 {
		must[klog.AppendResult](t)(log.Append(make([]klog.Record, 1), nil))
	}
	if r := <-more; r.Batches != 3 || r.Bytes < 200 {
		t.Errorf("%+v", r)
	}
	// In vain: what there is, or that there is nothing.
	if r, err := log.ReadRaw(ctx, 0, buf, &klog.ReadOptions{Follow: true, MinBytes: 1 << 19, MaxWait: time.Millisecond}); err != nil || r.Batches != 3 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := log.ReadRaw(ctx, 3, buf, &klog.ReadOptions{Follow: true, MaxWait: time.Millisecond}); !errors.Is(err, klog.ErrTimedOut) {
		t.Error(err)
	}
	if _, err := log.ReadRaw(ctx, 4, buf, &klog.ReadOptions{Follow: true}); !errors.Is(err, klog.ErrOffsetOutOfRange) {
		t.Error(err)
	}
	if r, err := log.ReadRaw(ctx, 0, buf, &klog.ReadOptions{Follow: true, MaxBytes: 10, NoMinOne: true}); err != nil || r.Bytes != 0 {
		t.Errorf("%+v %v", r, err)
	}
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	n := 0
	for batch, err := range log.Batches(ctx, 0, &klog.ReadOptions{Follow: true}) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		if batch.BaseOffset() != int64(n) {
			t.Error(batch.BaseOffset())
		}
		if n++; n == 3 {
			cancel()
		}
	}
	if n != 3 {
		t.Error(n)
	}
}

// Of a directory that another manager owns what it did counts when it was looked at.
func TestFollowingAnotherManagersDirectory(t *testing.T) {
	dir := t.TempDir()
	owner := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, nil))
	defer owner.Close()
	log := logOf(t, owner, nil)
	looking := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, &klog.Options{ReadOnly: true}))
	defer looking.Close()
	seen := must[*klog.Log](t)(looking.Log("orders", 0, nil))
	answer := waiting(t, seen, within(t), klog.WaitLogEnd, 0)
	must[int64](t)(log.AppendOne(nil, nil, time.Time{}))
	if err := seen.Refresh(); err != nil {
		t.Error(err)
	}
	if got := <-answer; got.end != 1 || got.err != nil {
		t.Error(got)
	}
}

func TestWaitingNeedsNoMoreThanItsDescriptors(t *testing.T) {
	before := descriptorNames(t)
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{t.TempDir()}, &klog.Options{NoBackground: true}))
	log := logOf(t, manager, nil)
	for i := range 50 {
		answer := waiting(t, log, within(t), klog.WaitLogEnd, int64(i))
		must[int64](t)(log.AppendOne(nil, nil, time.Time{}))
		<-answer
	}
	if err := manager.Close(); err != nil {
		t.Error(err)
	}
	if after := descriptorNames(t); len(after) > len(before) {
		t.Errorf("%v are open, %v were", after, before)
	}
}

func descriptorNames(t *testing.T) (names []string) {
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Skip(err)
	}
	for _, file := range files {
		if name, err := os.Readlink(file); err == nil && !strings.HasPrefix(name, "/proc/") {
			names = append(names, name)
		}
	}
	return names
}
