package klog

// #include "shim.h"
import "C"

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// EventKind is a set of kinds of events.
type EventKind uint64

// The kinds. 0 stands for all.
const (
	EventLost            EventKind = C.KLOG_EVENT_LOST
	EventRecovered       EventKind = C.KLOG_EVENT_RECOVERED
	EventRepaired        EventKind = C.KLOG_EVENT_REPAIRED
	EventIgnored         EventKind = C.KLOG_EVENT_IGNORED
	EventConfig          EventKind = C.KLOG_EVENT_CONFIG
	EventLoadFailed      EventKind = C.KLOG_EVENT_LOAD_FAILED
	EventDirOffline      EventKind = C.KLOG_EVENT_DIR_OFFLINE
	EventLogCreated      EventKind = C.KLOG_EVENT_LOG_CREATED
	EventLogDeleted      EventKind = C.KLOG_EVENT_LOG_DELETED
	EventRolled          EventKind = C.KLOG_EVENT_ROLLED
	EventSegmentsDeleted EventKind = C.KLOG_EVENT_SEGMENTS_DELETED
	EventTruncated       EventKind = C.KLOG_EVENT_TRUNCATED
	EventCleaned         EventKind = C.KLOG_EVENT_CLEANED
	EventMoved           EventKind = C.KLOG_EVENT_MOVED
	EventTaskFailed      EventKind = C.KLOG_EVENT_TASK_FAILED
)

// Event is something that happened in a manager.
type Event struct {
	// Kind is its name: recovered, rolled, cleaned and so on.
	Kind string
	Time time.Time
	// Dir and Log (topic-partition) are concerned; empty if none is.
	Dir, Log string
	// Status is the name of one, empty without.
	Status string
	// Offset, Count and Bytes are -1 where they have no meaning.
	Offset, Count, Bytes int64
	Text                 string
}

// LogValue gives the event's fields to log/slog, but for its kind and time.
func (e Event) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, text := range [...]struct{ key, value string }{{"dir", e.Dir}, {"log", e.Log}, {"status", e.Status}, {"text", e.Text}} {
		if text.value != "" {
			attrs = append(attrs, slog.String(text.key, text.value))
		}
	}
	for _, number := range [...]struct {
		key   string
		value int64
	}{{"offset", e.Offset}, {"count", e.Count}, {"bytes", e.Bytes}} {
		if number.value >= 0 {
			attrs = append(attrs, slog.Int64(number.key, number.value))
		}
	}
	return slog.GroupValue(attrs...)
}

// Level is how grave the event is.
func (e Event) Level() slog.Level {
	switch e.Kind {
	case "load-failed", "dir-offline", "task-failed":
		return slog.LevelError
	case "lost", "recovered", "repaired", "config":
		return slog.LevelWarn
	case "rolled":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// Events is a stream of what happens in a manager. It is for one goroutine at a time, but for Close.
type Events struct {
	manager *Manager
	c       C.klog_events
	// A descriptor that is readable while there are events: the runtime waits for it without a thread.
	ready   *os.File
	cleanup runtime.Cleanup
	closed  atomic.Bool
	buf     []byte
}

// Events opens a stream of events of these kinds, 0 for all. It begins with what the open found. It holds up to capacity
// of them, 0 for 1024; when it is full the newest are lost, and counted.
func (m *Manager) Events(kinds EventKind, capacity int) (*Events, error) {
	var c C.klog_events
	var fd C.int
	err := cError()
	if status := C.klog_events_open(m.c, C.uint64_t(kinds), C.size_t(max(capacity, 0)), &c, &fd, &err); status != C.KLOG_OK {
		return nil, newError(status, &err)
	}
	ready, failed := pollable(fd, "klog events")
	if failed != nil {
		C.klog_events_close(c)
		return nil, failed
	}
	e := &Events{manager: m, c: c, ready: ready, buf: make([]byte, 64<<10)}
	m.handles.add(handle{uint64(c.id), func(id uint64) { C.klog_events_close(C.klog_events{id: C.uint64_t(id)}) }})
	e.cleanup = guard(e, &m.handles, uint64(c.id))
	return e, nil
}

// Poll takes what there is, and waits for the first event until ctx is done. The goroutine that waits holds no thread.
// It is ErrClosed once the manager or the stream is closed.
func (e *Events) Poll(ctx context.Context) ([]Event, error) {
	defer runtime.KeepAlive(e)
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	wait, failed := e.ready.SyscallConn()
	if failed != nil {
		return nil, statusError(C.KLOG_ERR_CLOSED)
	}
	e.ready.SetReadDeadline(time.Time{})
	defer context.AfterFunc(ctx, func() { e.ready.SetReadDeadline(time.Unix(1, 0)) })()
	var events []Event
	var answer error
	failed = wait.Read(func(uintptr) bool {
		events, answer = e.take()
		return events != nil || answer != nil
	})
	if answer == nil && failed != nil {
		if ctx.Err() != nil {
			return nil, cancelled(ctx)
		}
		return nil, statusError(C.KLOG_ERR_CLOSED)
	}
	return events, answer
}

// take takes what there is now; nothing at all if there is nothing.
func (e *Events) take() ([]Event, error) {
	for {
		var count C.size_t
		err := cError()
		status := C.klog_events_poll(e.c, unsafe.Pointer(&e.buf[0]), C.size_t(len(e.buf)), &count, 0, C.klog_cancel{}, &err)
		switch status {
		case C.KLOG_OK:
			text, _, _ := strings.Cut(string(e.buf), "\x00")
			var events []Event
			for _, line := range lines(text) {
				events = append(events, event(line))
			}
			return events, nil
		case C.KLOG_ERR_TIMED_OUT:
			return nil, nil
		case C.KLOG_ERR_BUFFER_TOO_SMALL:
			e.buf = make([]byte, max(int(err.position), 2*len(e.buf)))
		default:
			return nil, newError(status, &err)
		}
	}
}

func event(line string) Event {
	of := append(fields(line), make([]string, 9)...)
	number := func(text string) int64 {
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return -1
		}
		return value
	}
	return Event{
		Kind: of[0], Time: time.UnixMilli(number(of[1])), Dir: of[2], Log: of[3], Status: strings.TrimPrefix(of[4], "KLOG_ERR_"),
		Offset: number(of[5]), Count: number(of[6]), Bytes: number(of[7]), Text: of[8],
	}
}

// All gives events until ctx is done or the manager is closed, which end it; anything else is yielded as an error.
func (e *Events) All(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			events, err := e.Poll(ctx)
			if failed, is := err.(*Error); is && (failed.Status == ErrCancelled || failed.Status == ErrClosed) {
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, event := range events {
				if !yield(event, nil) {
					return
				}
			}
		}
	}
}

// LogTo writes events to a logger, their kinds as messages, until ctx is done or the manager is closed: run it in a goroutine.
func (e *Events) LogTo(ctx context.Context, logger *slog.Logger) error {
	for event, err := range e.All(ctx) {
		if err != nil {
			return err
		}
		logger.Log(ctx, event.Level(), event.Kind, "klog", event)
	}
	return nil
}

// Close ends the stream, and a Poll that waits. Closing twice does nothing.
func (e *Events) Close() error {
	if e.closed.CompareAndSwap(false, true) {
		e.cleanup.Stop()
		e.manager.handles.remove(uint64(e.c.id))
		e.ready.Close()
	}
	return nil
}
