package klog

// #include "shim.h"
import "C"

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"
)

// AppenderOptions say how an appender works. The zero value, and nil, are the defaults.
type AppenderOptions struct {
	// Append is how its batches are appended; nil is the defaults. Of a Producer the sequence numbers begin at BaseSequence
	// and go on from batch to batch. ExpectedLogEnd and an Origin are not for appenders.
	Append *AppendOptions
	// BatchBytes is when a batch is full, uncompressed; 0 is 64 KiB. max.message.bytes of the topic bounds it too.
	BatchBytes uint64
	// QueueBytes is when adding waits, as so much is not appended yet; 0 is 16 MiB.
	QueueBytes uint64
	// Linger is how long a batch that is not full waits for more records; 0 is not at all.
	Linger time.Duration
}

// Appender collects what many goroutines add in small lots, and appends it in few batches, which with Durability Fsync are
// synced together. What is added is in the log in the order of its tickets. All its methods may be called from any goroutine
// at any time, also at once with Close.
//
// Who waits for a ticket does the work for all. What nobody waits for is appended by a thread of the library; with
// Options.NoBackground there is none, and it stays in the queue until that is full, or until Flush or Close.
type Appender struct {
	log     *Log
	c       C.klog_appender
	cleanup runtime.Cleanup
	closed  atomic.Bool
	// Who holds it may sleep in the library; the others wait for it without a thread.
	sleeper chan struct{}
}

// Appender opens an appender for the log. Close it before its manager, or leave that to Manager.Close.
func (l *Log) Appender(opts *AppenderOptions) (*Appender, error) {
	defer runtime.KeepAlive(l)
	with := C.klog_appender_options{struct_size: C.sizeof_klog_appender_options}
	var how *AppendOptions
	if opts != nil {
		how = opts.Append
		with.batch_bytes = C.uint64_t(opts.BatchBytes)
		with.queue_bytes = C.uint64_t(opts.QueueBytes)
		with.linger_us = C.int64_t(opts.Linger.Microseconds())
	}
	append := how.c()
	var c C.klog_appender
	err := cError()
	if status := C.klog_go_appender_open(l.c, &with, &append, &c, &err); status != C.KLOG_OK {
		return nil, l.failed(status, &err)
	}
	a := &Appender{log: l, c: c, sleeper: make(chan struct{}, 1)}
	l.manager.appenders.add(handle{uint64(c.id), nil})
	// A forgotten one may hold records: it is counted, and the manager's close appends them.
	noted, open := noteSite(), &l.manager.appenders
	a.cleanup = runtime.AddCleanup(a, func(id uint64) {
		if open.has(id) {
			leaked.Add(1)
			tellLeak(noted)
		}
	}, uint64(c.id))
	return a, nil
}

// Ticket stands for the records of one Add. The zero value is that of no records.
type Ticket struct {
	appender *Appender
	number   uint64
}

// Add adds records, all or nothing, to be appended together and in this order. They are copied, and checked as far as they
// can be by themselves; what the log says of them Ticket.Wait tells. It waits only while the queue is full, and ends when ctx
// is done: then, and after any other error, nothing was added.
func (a *Appender) Add(ctx context.Context, records ...Record) (Ticket, error) {
	b := batches.Get().(*Batch)
	b.Reset()
	for i := range records {
		b.Add(&records[i])
	}
	ticket, err := a.AddBatch(ctx, b)
	if cap(b.buf) <= batchKept {
		batches.Put(b)
	}
	return ticket, err
}

// AddBatch adds the records of a Batch, which stay in it: Add for those who reuse their memory.
func (a *Appender) AddBatch(ctx context.Context, b *Batch) (Ticket, error) {
	defer runtime.KeepAlive(a)
	if ctx.Err() != nil {
		return Ticket{}, a.log.named(cancelled(ctx))
	}
	packed := b.packed()
	var number C.uint64_t
	add := func(timeout C.int64_t) error {
		err := cError()
		return a.failed(C.klog_appender_add_packed(a.c, unsafe.Pointer(unsafe.SliceData(packed)), C.size_t(len(packed)),
			timeout, &number, &err), &err)
	}
	err := add(0)
	if err != nil && errors.Is(err, ErrQueueFull) {
		err = a.sleep(ctx, add)
	}
	if err != nil {
		return Ticket{}, err
	}
	return Ticket{a, uint64(number)}, nil
}

// sleepMS is how long a call that takes no token sleeps in the library before its context is looked at.
const sleepMS = 50

// sleep makes a call that may sleep, and makes it again while it times out. One goroutine an appender does at a time.
func (a *Appender) sleep(ctx context.Context, call func(timeout C.int64_t) error) error {
	for {
		select {
		case a.sleeper <- struct{}{}:
		case <-ctx.Done():
			return a.log.named(cancelled(ctx))
		}
		err := call(sleepMS)
		<-a.sleeper
		if err == nil || !errors.Is(err, ErrTimedOut) {
			return err
		}
		if ctx.Err() != nil {
			return a.log.named(cancelled(ctx))
		}
	}
}

// Wait waits until the records are appended, and durable with Durability Fsync: FirstOffset, LastOffset and Records are those
// of the ticket, the rest is that of the batch that holds them. It fails as the append of the batch did. When ctx is done the
// records are still on their way, and can be waited for again, by any goroutine and any number of times: the results of the
// last 16,000 adds at least are kept. It is ErrClosed if they were dropped by a close.
func (t Ticket) Wait(ctx context.Context) (AppendResult, error) {
	if t.appender == nil {
		return AppendResult{FirstOffset: -1, LastOffset: -1}, nil
	}
	return t.appender.wait(ctx, t.number)
}

func (a *Appender) wait(ctx context.Context, ticket uint64) (AppendResult, error) {
	defer runtime.KeepAlive(a)
	result := C.klog_append_result{struct_size: C.sizeof_klog_append_result}
	look := func(timeout C.int64_t, token C.klog_cancel) error {
		err := cError()
		return a.failed(C.klog_appender_wait(a.c, C.uint64_t(ticket), timeout, token, &result, &err), &err)
	}
	// This appends what there is, if nobody else does.
	failed := look(0, C.klog_cancel{})
	if failed != nil && errors.Is(failed, ErrTimedOut) {
		select {
		case a.sleeper <- struct{}{}:
			failed = a.log.named(cancellable(ctx, func(token C.klog_cancel, err *C.klog_error) C.klog_status {
				return C.klog_appender_wait(a.c, C.uint64_t(ticket), -1, token, &result, err)
			}))
			<-a.sleeper
		case <-ctx.Done():
			failed = a.log.named(cancelled(ctx))
		}
	}
	if failed != nil {
		return AppendResult{FirstOffset: -1, LastOffset: -1}, failed
	}
	return appendResult(&result), nil
}

// Flush waits until everything is appended that was added before, and durable with Durability Fsync. The first failure since
// the last flush is answered, also that of records that nobody waited for.
func (a *Appender) Flush(ctx context.Context) error {
	defer runtime.KeepAlive(a)
	if ctx.Err() != nil {
		return a.log.named(cancelled(ctx))
	}
	flush := func(timeout C.int64_t) error {
		err := cError()
		return a.failed(C.klog_appender_flush(a.c, timeout, &err), &err)
	}
	err := flush(0)
	if err != nil && errors.Is(err, ErrTimedOut) {
		err = a.sleep(ctx, flush)
	}
	return err
}

// Close ends the appender after a flush, whose failure is the answer. Closing twice does nothing.
func (a *Appender) Close() error { return a.close(0) }

// Discard ends the appender, and drops what is not being appended yet: its tickets are ErrClosed.
func (a *Appender) Discard() error { return a.close(C.KLOG_CLOSE_DISCARD) }

func (a *Appender) close(flags C.uint32_t) error {
	if !a.closed.CompareAndSwap(false, true) {
		return nil
	}
	a.cleanup.Stop()
	if _, is := a.log.manager.appenders.take(uint64(a.c.id)); !is {
		return nil
	}
	err := cError()
	return a.log.failed(C.klog_appender_close(a.c, flags, &err), &err)
}

// closeAppenders ends those that are open, before their manager.
func (m *Manager) closeAppenders(flags C.uint32_t) error {
	var failed []error
	for id := range m.appenders.takeAll() {
		err := cError()
		status := C.klog_appender_close(C.klog_appender{id: C.uint64_t(id)}, flags, &err)
		failed = append(failed, newError(status, &err))
	}
	return errors.Join(failed...)
}

func (a *Appender) failed(status C.klog_status, err *C.klog_error) error {
	if status == C.KLOG_OK {
		return nil
	}
	return a.log.failed(status, err)
}
