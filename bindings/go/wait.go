package klog

// #include "shim.h"
import "C"

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// WaitKind is which end of a log is waited for.
type WaitKind uint32

const (
	// WaitLogEnd: something was appended.
	WaitLogEnd WaitKind = C.KLOG_WAIT_LOG_END
	// WaitHighWatermark: readers of committed data get on.
	WaitHighWatermark WaitKind = C.KLOG_WAIT_HIGH_WATERMARK
	// WaitLastStable: readers of committed transactions get on.
	WaitLastStable WaitKind = C.KLOG_WAIT_LAST_STABLE
	// WaitDurable: the recovery point; records below survive a power cut.
	WaitDurable WaitKind = C.KLOG_WAIT_DURABLE
)

// Wait waits until the end that kind names lies above an offset: until the record at it is there. It answers where that end
// is then. A reader waits for the offset that it would read next; one far ahead is fine too.
//
// The goroutine that waits holds no thread, however many there are. It ends when ctx is done; with ErrClosed when the log or
// its manager is closed; with ErrUnknownTopicOrPartition when the log is deleted, ErrOffsetOutOfRange when it is cut below
// the offset, and ErrDirOffline when its directory goes out of use. With Options.ReadOnly it is Refresh that lets what the
// owner did count.
func (l *Log) Wait(ctx context.Context, kind WaitKind, offset int64) (int64, error) {
	return l.wait(ctx, wanted{kind: kind, offset: offset}, nil)
}

// wanted is what is waited for.
type wanted struct {
	kind     WaitKind
	offset   int64
	minBytes uint64
}

func (w wanted) c(timeout C.int64_t) C.klog_wait_options {
	return C.klog_wait_options{
		struct_size: C.sizeof_klog_wait_options, kind: C.uint32_t(w.kind), offset: C.int64_t(w.offset),
		min_bytes: C.uint64_t(w.minBytes), timeout_ms: timeout,
	}
}

// wait waits until what is wanted is there, ctx is done, or gone is closed.
func (l *Log) wait(ctx context.Context, what wanted, gone <-chan struct{}) (int64, error) {
	defer runtime.KeepAlive(l)
	if ctx.Err() != nil {
		return 0, l.named(cancelled(ctx))
	}
	end, status, failed := l.look(what)
	if status != C.KLOG_ERR_TIMED_OUT {
		return end, failed
	}
	waits := &l.manager.waits
	on, err := waits.join(l, what)
	if err != nil {
		return 0, l.named(err)
	}
	select {
	case <-on.answered:
		waits.leave(on)
		return on.end, l.waitFailed(on.status, what)
	case <-ctx.Done():
		waits.leave(on)
		return 0, l.named(cancelled(ctx))
	case <-gone:
		waits.leave(on)
		return 0, l.named(statusError(C.KLOG_ERR_CLOSED))
	}
}

// look is the answer of now.
func (l *Log) look(what wanted) (int64, C.klog_status, error) {
	with := what.c(0)
	var end C.int64_t
	err := cError()
	status := C.klog_wait(l.c, &with, &end, &err)
	return int64(end), status, l.failed(status, &err)
}

// waitFailed is the error of a wait that ended with this status. The waiter tells no more than that, so the library is asked
// once more: it says the rest, unless what happened has passed.
func (l *Log) waitFailed(status C.klog_status, what wanted) error {
	if status == C.KLOG_OK {
		return nil
	}
	if _, again, failed := l.look(what); again == status {
		return failed
	}
	failed := l.named(statusError(status))
	if e := failed.(*Error); status == C.KLOG_ERR_OFFSET_OUT_OF_RANGE {
		e.Offset, _ = l.EndOffset()
		e.Msg = fmt.Sprintf("the log was cut, and ends at %d; offset %d was waited for", e.Offset, what.offset)
	}
	return failed
}

// waits are the goroutines that wait for logs of a manager. One goroutine serves all of them: the runtime wakes it when the
// waiter's descriptor is readable, so that no thread sleeps in the library. It begins with the first wait, and ends with the
// manager.
type waits struct {
	mu     sync.Mutex
	c      C.klog_waiter
	ready  *os.File // nil before the first wait
	done   chan struct{}
	closed bool
	lastID uint64
	// How many entries came back unanswered.
	lapses uint64
	byID   map[uint64]*armed
	// Who waits for the same shares one entry.
	byWish map[wish]*armed
}

type wish struct {
	log uint64
	wanted
}

// armed is an entry in the waiter, and those who wait for it.
type armed struct {
	id      uint64
	wish    wish
	waiting int
	// Closed when end and status are there.
	answered chan struct{}
	end      int64
	status   C.klog_status
}

// lapseMS is after how long an entry comes back unanswered. An entry cannot be taken back, so those that nobody waits for
// any more last until then; the others are armed again. Only tests change it.
var lapseMS int64 = 60_000

// join arms the waiter for a wish, or shares the entry of another one who has it.
func (w *waits) join(l *Log, what wanted) (*armed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.begin(l.manager); err != nil {
		return nil, err
	}
	wish := wish{uint64(l.c.id), what}
	if on := w.byWish[wish]; on != nil {
		on.waiting++
		return on, nil
	}
	w.lastID++
	on := &armed{id: w.lastID, wish: wish, waiting: 1, answered: make(chan struct{})}
	if status, failed := w.arm(on); status != C.KLOG_OK {
		return nil, failed
	}
	w.byID[on.id], w.byWish[wish] = on, on
	return on, nil
}

func (w *waits) arm(on *armed) (C.klog_status, error) {
	with := on.wish.c(C.int64_t(lapseMS))
	err := cError()
	status := C.klog_waiter_arm(w.c, C.klog_log{id: C.uint64_t(on.wish.log)}, &with, C.uint64_t(on.id), &err)
	return status, newError(status, &err)
}

func (w *waits) leave(on *armed) {
	w.mu.Lock()
	on.waiting--
	w.mu.Unlock()
}

// begin opens the waiter and starts to serve it, once. The lock is held.
func (w *waits) begin(m *Manager) error {
	if w.closed {
		return statusError(C.KLOG_ERR_CLOSED)
	}
	if w.ready != nil {
		return nil
	}
	var c C.klog_waiter
	var fd C.int
	err := cError()
	if status := C.klog_waiter_open(m.c, &c, &fd, &err); status != C.KLOG_OK {
		return newError(status, &err)
	}
	ready, failed := pollable(fd, "klog waiter")
	if failed != nil {
		C.klog_waiter_close(c)
		return failed
	}
	m.handles.add(handle{uint64(c.id), func(id uint64) { C.klog_waiter_close(C.klog_waiter{id: C.uint64_t(id)}) }})
	w.c, w.ready, w.done = c, ready, make(chan struct{})
	w.byID, w.byWish = make(map[uint64]*armed), make(map[wish]*armed)
	go w.serve()
	return nil
}

// serve hands out answers until the waiter or its manager is closed.
func (w *waits) serve() {
	defer close(w.done)
	if conn, err := w.ready.SyscallConn(); err == nil {
		// Read calls the function first, and then whenever the descriptor became readable, until it says that it is done.
		conn.Read(func(uintptr) bool { return w.take() })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, on := range w.byID {
		on.status = C.KLOG_ERR_CLOSED
		close(on.answered)
	}
	w.byID, w.byWish = nil, nil
}

// take hands out what is ready, and answers whether the waiter is closed.
func (w *waits) take() bool {
	var entries [64]C.klog_ready
	for {
		var count C.size_t
		switch C.klog_waiter_poll(w.c, &entries[0], C.size_t(len(entries)), &count, 0, nil) {
		case C.KLOG_OK:
			w.answer(entries[:count])
		case C.KLOG_ERR_TIMED_OUT:
			return false
		default:
			return true
		}
	}
}

func (w *waits) answer(entries []C.klog_ready) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range entries {
		entry := &entries[i]
		on := w.byID[uint64(entry.user_data)]
		if on == nil {
			continue
		}
		status := entry.status
		if status == C.KLOG_ERR_TIMED_OUT {
			w.lapses++
			if on.waiting > 0 {
				if status, _ = w.arm(on); status == C.KLOG_OK {
					continue
				}
			}
		}
		delete(w.byID, on.id)
		delete(w.byWish, on.wish)
		on.end, on.status = int64(entry.offset), status
		close(on.answered)
	}
}

// end wakes all who wait, with ErrClosed, and returns when nothing of this runs any more.
func (w *waits) end() {
	w.mu.Lock()
	w.closed = true
	ready, done := w.ready, w.done
	w.mu.Unlock()
	if ready != nil {
		ready.Close()
		<-done
	}
}

// pollable is a descriptor of the library's as one of Go's, which the runtime waits for without a thread.
func pollable(fd C.int, name string) (*os.File, error) {
	own := C.klog_go_dup(fd)
	if own < 0 {
		return nil, statusError(C.KLOG_ERR_NO_FILES)
	}
	file := os.NewFile(uintptr(own), name)
	// Only what the runtime can wait for takes a deadline.
	if file.SetReadDeadline(time.Time{}) != nil {
		file.Close()
		return nil, statusError(C.KLOG_ERR_UNSUPPORTED)
	}
	return file, nil
}
