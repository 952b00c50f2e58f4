package klog

// #include "shim.h"
import "C"

import (
	"iter"
	"runtime"
	"unsafe"
)

// Decode gives the records of whole record batches, of any origin and format, checked and decompressed; what is behind the
// last whole batch is not looked at. Of opts only Control counts. A record is valid until the next one is asked for;
// Record.Clone keeps one. A damaged batch is yielded as an error, and the loop goes on behind it unless it is left.
func Decode(raw []byte, opts *ReadOptions) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		pooled := buffers.Get().(*[]byte)
		defer buffers.Put(pooled)
		buf := *pooled
		var flags C.uint32_t
		if opts != nil && opts.Control {
			flags = C.KLOG_READ_CONTROL
		}
		var packed decoder
		var record Record
		whole := len(raw)
		for {
			result := C.klog_read_result{struct_size: C.sizeof_klog_read_result}
			err := cError()
			spoil(buf)
			status := C.klog_decode_packed(first(raw), C.size_t(len(raw)), flags, unsafe.Pointer(unsafe.SliceData(buf)),
				C.size_t(len(buf)), &result, &err)
			switch status {
			case C.KLOG_OK:
			case C.KLOG_ERR_END:
				return
			case C.KLOG_ERR_BUFFER_TOO_SMALL:
				buf = make([]byte, max(int(result.bytes_needed), 2*len(buf)))
				continue
			default:
				if err.position >= 0 {
					err.position += C.int64_t(whole - len(raw))
				}
				failed := newError(status, &err)
				var batch RawBatch
				if batch, raw = NextBatch(raw); !yield(Record{}, failed) || batch == nil || !goesOn(failed) {
					return
				}
				continue
			}
			raw = raw[result.bytes:]
			if failed := packed.begin(buf); failed != nil {
				yield(Record{}, failed)
				return
			}
			for packed.left > 0 {
				if failed := packed.next(&record); failed != nil {
					yield(Record{}, failed)
					return
				}
				if !yield(record, nil) {
					return
				}
			}
		}
	}
}

// Encode appends the records to dst as one batch of format 2, with the offsets from base on: for AppendRaw with Origin
// Replication, or for the network. Of opts count Compression (CompressionConfig is none, as there is no topic), its level,
// Producer and LeaderEpoch (without it -1, as a producer sends it). Records without a time get the system's. No records are
// no bytes.
func (b *Batch) Encode(dst []byte, base int64, opts *AppendOptions) ([]byte, error) {
	with := opts.c()
	packed := b.packed()
	for {
		var needed C.size_t
		err := cError()
		room := dst[len(dst):cap(dst)]
		status := C.klog_encode_packed(unsafe.Pointer(unsafe.SliceData(packed)), C.size_t(len(packed)), &with, C.int64_t(base),
			first(room), C.size_t(len(room)), &needed, &err)
		switch status {
		case C.KLOG_OK:
			runtime.KeepAlive(b)
			return dst[:len(dst)+int(needed)], nil
		case C.KLOG_ERR_BUFFER_TOO_SMALL:
			larger := make([]byte, len(dst), len(dst)+int(needed))
			copy(larger, dst)
			dst = larger
		default:
			return dst, newError(status, &err)
		}
	}
}
