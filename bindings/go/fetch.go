package klog

// #include "shim.h"
import "C"

import (
	"context"
	"io"
	"iter"
	"os"
	"reflect"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Fetch holds stored batches of one segment where they lie, without a copy: as memory, and as a region of a file that
// WriteTo sends without a copy either. It stays as it is until Close, also if the log is cut, compacted or deleted meanwhile,
// or its manager closed. It keeps a descriptor open.
//
// Its methods may be called from any goroutine at any time, also at once with Close, but what Bytes and Batches gave is gone
// with Close: touching it afterwards ends the program.
type Fetch struct {
	log  *Log
	c    C.klog_view
	data []byte
	fd   int
	// Where data begins in the file.
	position int64

	firstOffset, nextOffset, segmentBaseOffset int64

	cleanup runtime.Cleanup
	closed  atomic.Bool
	// One for being open, and one for each call that uses it: the view ends with the last.
	users atomic.Int64
	// Whether memory was given out, which a forgotten Fetch must not take away.
	lent *atomic.Bool
}

// Fetch takes stored batches from the one that holds the offset on, to the end of its segment or opts.MaxBytes. Nothing to
// read is no error, and gives a Fetch without bytes; with ReadOptions.Follow it waits until there is something.
func (l *Log) Fetch(ctx context.Context, from int64, opts *ReadOptions) (*Fetch, error) {
	if ctx.Err() != nil {
		return nil, l.named(cancelled(ctx))
	}
	for {
		f, err := l.fetch(from, opts)
		if err != nil || len(f.data) > 0 || opts == nil || !opts.Follow || f.segmentBaseOffset >= 0 {
			return f, err
		}
		at := f.nextOffset
		f.Close()
		if err := opts.await(ctx, l, max(from, at), opts.MinBytes, nil); err != nil {
			return nil, err
		}
	}
}

func (l *Log) fetch(from int64, opts *ReadOptions) (*Fetch, error) {
	defer runtime.KeepAlive(l)
	with := opts.c()
	info := C.klog_view_info{struct_size: C.sizeof_klog_view_info}
	err := cError()
	var c C.klog_view
	if status := C.klog_view_open(l.c, C.int64_t(from), &with, &c, &info, &err); status != C.KLOG_OK {
		return nil, l.failed(status, &err)
	}
	f := &Fetch{
		log: l, c: c, fd: int(info.fd), position: int64(info.position),
		firstOffset: int64(info.first_offset), nextOffset: int64(info.next_offset),
		segmentBaseOffset: int64(info.segment_base_offset), lent: new(atomic.Bool),
	}
	if info.len > 0 {
		size := int(info.len)
		f.data = unsafe.Slice((*byte)(info.data), size)[:size:size]
	}
	f.users.Store(1)
	type forgotten struct {
		c    C.klog_view
		lent *atomic.Bool
		site []byte
	}
	f.cleanup = runtime.AddCleanup(f, func(of forgotten) {
		leaked.Add(1)
		tellLeak(of.site)
		if !of.lent.Load() {
			C.klog_view_close(of.c)
		}
	}, forgotten{c, f.lent, noteSite()})
	return f, nil
}

// use keeps the view open until unuse; false if it is closed.
func (f *Fetch) use() bool {
	for {
		users := f.users.Load()
		if users == 0 {
			return false
		}
		if f.users.CompareAndSwap(users, users+1) {
			return true
		}
	}
}

func (f *Fetch) unuse() {
	if f.users.Add(-1) == 0 {
		C.klog_view_close(f.c)
	}
	runtime.KeepAlive(f)
}

// Close ends it, once calls that use it have returned. Closing twice does nothing.
func (f *Fetch) Close() error {
	if f.closed.CompareAndSwap(false, true) {
		f.cleanup.Stop()
		f.unuse()
	}
	return nil
}

// Len is how many bytes there are.
func (f *Fetch) Len() int { return len(f.data) }

// FirstOffset is that of the first batch; it may be below the one asked for.
func (f *Fetch) FirstOffset() int64 { return f.firstOffset }

// NextOffset is where the next Fetch goes on.
func (f *Fetch) NextOffset() int64 { return f.nextOffset }

// Bytes are the batches, for reading only, until Close; nil once it is closed. They are the file's memory, not Go's. Keep the
// Fetch as long as they are used: they do not keep it.
func (f *Fetch) Bytes() []byte {
	if f.closed.Load() {
		return nil
	}
	f.lent.Store(true)
	return f.data
}

// Region is where the batches lie: so many bytes from position on, in the segment file that begins with segmentBaseOffset.
func (f *Fetch) Region() (segmentBaseOffset, position, length int64) {
	return f.segmentBaseOffset, f.position, int64(len(f.data))
}

// Batches are the batches, one by one. Each is valid until Close.
func (f *Fetch) Batches() iter.Seq[RawBatch] {
	return func(yield func(RawBatch) bool) {
		for rest := f.Bytes(); len(rest) > 0; {
			var batch RawBatch
			if batch, rest = NextBatch(rest); batch != nil && !yield(batch) {
				return
			}
		}
		runtime.KeepAlive(f)
	}
}

// Records are the records of the batches, checked and decompressed, those below the offset that was asked for among them. A
// record is valid until the next one is asked for; Record.Clone keeps one.
func (f *Fetch) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if !f.use() {
			yield(Record{}, f.log.named(statusError(C.KLOG_ERR_CLOSED)))
			return
		}
		defer f.unuse()
		Decode(f.data, nil)(yield)
	}
}

// WriteTo writes the batches. To a *net.TCPConn, *net.UnixConn or *os.File the system copies them out of the file, and they
// do not come through this program.
func (f *Fetch) WriteTo(w io.Writer) (int64, error) {
	if !f.use() {
		return 0, f.log.named(statusError(C.KLOG_ERR_CLOSED))
	}
	defer f.unuse()
	sent := 0
	if to := kernelWriter(w); to != nil && f.fd >= 0 {
		var err error
		if sent, err = f.sendfile(to); err != nil || sent == len(f.data) {
			return int64(sent), err
		}
	}
	n, err := w.Write(f.data[sent:])
	return int64(sent + n), err
}

// kernelWriter is w if the system can write to it by itself. Types of net are told by their names: to import it would put all
// of it into programs that have no network. A type that only embeds one may do more in its Write, and is not meant.
func kernelWriter(w io.Writer) syscall.RawConn {
	_, isFile := w.(*os.File)
	conn, can := w.(syscall.Conn)
	if !can {
		return nil
	}
	if !isFile {
		of := reflect.TypeOf(w)
		if of.Kind() != reflect.Pointer || of.Elem().PkgPath() != "net" || of.Elem().Name() != "TCPConn" && of.Elem().Name() != "UnixConn" {
			return nil
		}
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	isStream := isFile
	raw.Control(func(fd uintptr) {
		kind, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TYPE)
		isStream = isStream || err == nil && kind == syscall.SOCK_STREAM
	})
	if !isStream {
		return nil
	}
	return raw
}

// sentByKernel counts bytes, for tests.
var sentByKernel atomic.Uint64

// sendfileMax is how much is sent by one call of the system's.
const sendfileMax = 4 << 20

// sendfile sends as much as the system takes: all of it, or nothing where it does not do that with this kind of file.
func (f *Fetch) sendfile(to syscall.RawConn) (sent int, failed error) {
	at := f.position
	conn := to.Write(func(fd uintptr) bool {
		for sent < len(f.data) {
			n, err := syscall.Sendfile(int(fd), f.fd, &at, min(len(f.data)-sent, sendfileMax))
			switch {
			case n > 0:
				sent += n
				sentByKernel.Add(uint64(n))
			case err == syscall.EINTR:
			case err == syscall.EAGAIN:
				return false
			case err == nil:
				failed = io.ErrUnexpectedEOF
				return true
			default:
				// Files that are appended to, and others that the system does not send to.
				if sent > 0 || err != syscall.EINVAL && err != syscall.ENOSYS && err != syscall.EOPNOTSUPP {
					failed = os.NewSyscallError("sendfile", err)
				}
				return true
			}
		}
		return true
	})
	if failed == nil {
		failed = conn
	}
	return sent, failed
}
