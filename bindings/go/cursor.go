package klog

// #include "shim.h"
import "C"

import (
	"context"
	"io"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// How large a cursor's buffer is at first. It grows to what the largest record needs.
const bufferAtFirst = 256 << 10

// Cursor reads the records of a log in order. It crosses to the library once for a buffer full of records, and takes no
// memory for a record. It is for one goroutine at a time, but for Close, which may come from any at any time.
type Cursor struct {
	log     *Log
	c       C.klog_cursor
	cleanup runtime.Cleanup
	closed  atomic.Bool
	// What to do at the end of what may be read; nil is to say io.EOF.
	follow *ReadOptions
	// Closed with the cursor, for a Next that waits.
	gone chan struct{}

	buf    []byte
	packed decoder
	next   int64
	result C.klog_read_result
	err    C.klog_error
	record Record
}

// Cursor opens a cursor at an offset, which may lie inside a batch. Whether it can be read shows at the first Next.
func (l *Log) Cursor(from int64, opts *ReadOptions) (*Cursor, error) {
	return l.cursor(from, opts, nil)
}

// cursor opens a cursor with this buffer, or with a new one.
func (l *Log) cursor(from int64, opts *ReadOptions, buf []byte) (*Cursor, error) {
	defer runtime.KeepAlive(l)
	with := opts.c()
	err := cError()
	var c C.klog_cursor
	if status := C.klog_cursor_open(l.c, C.int64_t(from), &with, &c, &err); status != C.KLOG_OK {
		return nil, l.failed(status, &err)
	}
	if buf == nil {
		buf = make([]byte, bufferAtFirst)
	}
	cursor := &Cursor{log: l, c: c, next: from, buf: buf}
	if opts != nil && opts.Follow {
		copied := *opts
		cursor.follow, cursor.gone = &copied, make(chan struct{})
	}
	l.manager.handles.add(handle{uint64(c.id), func(id uint64) { C.klog_cursor_close(C.klog_cursor{id: C.uint64_t(id)}) }})
	cursor.cleanup = guard(cursor, &l.manager.handles, uint64(c.id))
	return cursor, nil
}

// Next gives the next record. It belongs to the cursor: its key, value and headers are valid until the next call of Next,
// SeekTo or Close; Record.Clone keeps one.
//
// At the log end it is io.EOF, and a later call goes on when there is more; with ReadOptions.Follow the call waits there,
// holding no thread, until there is more, ctx is done, or the cursor or its log is closed. Whatever ended it, the cursor
// keeps its place. A batch that is damaged is an error once, and the next call goes on behind it.
func (c *Cursor) Next(ctx context.Context) (*Record, error) {
	if c.packed.left == 0 {
		if err := c.fill(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.packed.next(&c.record); err != nil {
		return nil, c.log.named(err)
	}
	c.next = c.record.Offset + 1
	return &c.record, nil
}

// fill fetches as many records as fit the buffer.
func (c *Cursor) fill(ctx context.Context) error {
	defer runtime.KeepAlive(c)
	if ctx.Done() != nil && ctx.Err() != nil {
		return c.log.named(cancelled(ctx))
	}
	spoil(c.buf)
	for {
		if c.closed.Load() {
			return c.log.named(statusError(C.KLOG_ERR_CLOSED))
		}
		c.result.struct_size = C.sizeof_klog_read_result
		c.err.struct_size = C.sizeof_klog_error
		status := C.klog_cursor_next_packed(c.c, unsafe.Pointer(unsafe.SliceData(c.buf)), C.size_t(len(c.buf)), &c.result, &c.err)
		switch status {
		case C.KLOG_OK:
			if c.result.records == 0 {
				c.next = int64(c.result.next_offset)
				continue
			}
			return c.log.named(c.packed.begin(c.buf[:c.result.bytes]))
		case C.KLOG_ERR_END:
			c.next = int64(c.result.next_offset)
			if c.follow == nil {
				return io.EOF
			}
			if err := c.follow.await(ctx, c.log, c.next, c.follow.MinBytes, c.gone); err != nil {
				return err
			}
		case C.KLOG_ERR_BUFFER_TOO_SMALL:
			c.buf = make([]byte, max(int(c.result.bytes_needed), 2*len(c.buf)))
		default:
			return c.log.failed(status, &c.err)
		}
	}
}

// Batch is the batch that the last record is in, with ReadOptions.BatchInfo.
func (c *Cursor) Batch() BatchInfo { return c.packed.batch }

// Offset is where the next call of Next goes on.
func (c *Cursor) Offset() int64 { return c.next }

// SeekTo goes on from another offset.
func (c *Cursor) SeekTo(offset int64) error {
	defer runtime.KeepAlive(c)
	err := cError()
	if status := C.klog_cursor_seek(c.c, C.int64_t(offset), &err); status != C.KLOG_OK {
		return c.log.failed(status, &err)
	}
	c.packed.left = 0
	c.next = offset
	return nil
}

// All gives the records up to the log end, or with ReadOptions.Follow until ctx is done. A record is valid until the next one is asked for; Record.Clone keeps one. An
// error that is yielded does not end it: the loop goes on behind a damaged batch unless it is left, but when the context
// is done or the cursor can read no more it ends.
func (c *Cursor) All(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			record, err := c.Next(ctx)
			if err == io.EOF {
				return
			}
			if err != nil {
				if !yield(Record{}, err) || !goesOn(err) {
					return
				}
				continue
			}
			if !yield(*record, nil) {
				return
			}
		}
	}
}

// goesOn is whether a cursor gives more behind an error.
func goesOn(err error) bool {
	e, is := err.(*Error)
	return is && (e.Status == ErrCorruptMessage || e.Status == ErrInvalidRecord || e.Status == ErrUnsupportedCompressionType)
}

// Close ends the cursor. Records that it gave are no longer valid. Closing twice does nothing.
func (c *Cursor) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.cleanup.Stop()
		c.log.manager.handles.remove(uint64(c.c.id))
		if c.gone != nil {
			close(c.gone)
		}
	}
	return nil
}

// buffers of cursors that nobody sees.
var buffers = sync.Pool{New: func() any {
	buf := make([]byte, bufferAtFirst)
	return &buf
}}

// Records gives the records of the log from an offset up to the log end. A record is valid until the next one is asked
// for; Record.Clone keeps one. What goes wrong is yielded in place of a record.
//
//	for record, err := range log.Records(ctx, 0) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(record.Offset, string(record.Value))
//	}
func (l *Log) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	return l.records(ctx, from, nil)
}

// Follow gives the records of the log from an offset on, and waits for more at the log end, until ctx is done or the log is
// closed, which is yielded as the last error. A record is valid until the next one is asked for; Record.Clone keeps one.
//
//	for record, err := range log.Follow(ctx, 0) {
//		if errors.Is(err, context.Canceled) {
//			return nil
//		}
//		...
//	}
func (l *Log) Follow(ctx context.Context, from int64) iter.Seq2[Record, error] {
	return l.records(ctx, from, &ReadOptions{Follow: true})
}

func (l *Log) records(ctx context.Context, from int64, opts *ReadOptions) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		buf := buffers.Get().(*[]byte)
		cursor, err := l.cursor(from, opts, *buf)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer func() {
			cursor.Close()
			// A buffer that grew for a large record is not kept.
			if len(cursor.buf) == bufferAtFirst {
				spoil(cursor.buf)
				buffers.Put(buf)
			}
		}()
		cursor.All(ctx)(yield)
	}
}
