package klog

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/binary"
	"iter"
	"runtime"
	"time"
)

// Isolation is how far a reader sees.
type Isolation uint32

const (
	// LogEnd: everything that is in the log.
	LogEnd Isolation = C.KLOG_ISOLATION_LOG_END
	// HighWatermark: what is below the high watermark.
	HighWatermark Isolation = C.KLOG_ISOLATION_HIGH_WATERMARK
	// Committed: what is below the last stable offset; a Cursor leaves out aborted transactions too.
	Committed Isolation = C.KLOG_ISOLATION_TXN_COMMITTED
)

// ReadOptions say how to read. The zero value, and nil, are the defaults.
type ReadOptions struct {
	Isolation Isolation
	// MaxBytes is at most so many bytes; for a Cursor how much it reads at a time. 0 is what the buffer holds.
	MaxBytes uint64
	// MaxRecords is at most so many records each time that a Cursor fetches; 0 is no limit.
	MaxRecords uint32
	// NoMinOne: ReadRaw gives the first batch only if it fits MaxBytes.
	NoMinOne bool
	// Slice: ReadRaw and Fetch give exactly the bytes that Kafka's log gives: MaxBytes counts as it is, also 0, and cuts even
	// inside a batch.
	Slice bool
	// Control gives control records too; for a Cursor.
	Control bool
	// BatchInfo lets a Cursor tell of the batches that its records are in, with Cursor.Batch.
	BatchInfo bool
	// LeaderEpoch, if not nil, is what the reader takes for the log's latest: ErrFencedLeaderEpoch if the log has a newer one,
	// ErrUnknownLeaderEpoch if it does not know that one yet.
	LeaderEpoch *int32
	// Follow waits at the end of what may be read until there is more, instead of answering that there is nothing.
	Follow bool
	// MinBytes: with Follow, how many bytes of batches are to be there before the wait ends; 0 is any.
	MinBytes uint64
	// MaxWait: with Follow, after how long less than MinBytes is given; if that is nothing the answer is ErrTimedOut. 0 is
	// no limit, but for the context's.
	MaxWait time.Duration
}

// await waits until there is more to be read from an offset on, in the way that the options say.
func (o *ReadOptions) await(ctx context.Context, l *Log, offset int64, minBytes uint64, gone <-chan struct{}) error {
	kind := [...]WaitKind{LogEnd: WaitLogEnd, HighWatermark: WaitHighWatermark, Committed: WaitLastStable}[o.Isolation]
	within, cancel := ctx, func() {}
	if o.MaxWait > 0 {
		within, cancel = context.WithTimeout(ctx, o.MaxWait)
	}
	defer cancel()
	_, err := l.wait(within, wanted{kind, offset, minBytes}, gone)
	switch e, _ := err.(*Error); {
	case err == nil || e.Status == ErrOffsetOutOfRange:
		// Of a log that was cut the read tells.
		return nil
	case e.Status == ErrCancelled && ctx.Err() == nil:
		// The time is up: what there is will do.
		_, _, err = l.look(wanted{kind, offset, 0})
	}
	return err
}

func (o *ReadOptions) c() C.klog_read_options {
	c := C.klog_read_options{struct_size: C.sizeof_klog_read_options}
	if o == nil {
		return c
	}
	c.isolation = C.uint32_t(o.Isolation)
	c.max_bytes = C.uint64_t(o.MaxBytes)
	c.max_records = C.uint32_t(o.MaxRecords)
	if o.NoMinOne {
		c.flags |= C.KLOG_READ_NO_MIN_ONE
	}
	if o.Slice {
		c.flags |= C.KLOG_READ_SLICE
	}
	if o.LeaderEpoch != nil {
		c.flags |= C.KLOG_READ_HAS_EPOCH
		c.leader_epoch = C.int32_t(*o.LeaderEpoch)
	}
	if o.BatchInfo {
		c.flags |= C.KLOG_READ_BATCH_INFO
	}
	if o.Control {
		c.flags |= C.KLOG_READ_CONTROL
	}
	return c
}

// ReadResult is what a read gave.
type ReadResult struct {
	Bytes            int
	BytesNeeded      int // with ErrBufferTooSmall
	Batches          int
	FirstOffset      int64 // may be below the one asked for
	NextOffset       int64 // where the next read goes on
	LogStartOffset   int64
	HighWatermark    int64
	LastStableOffset int64
	LogEndOffset     int64
	AbortedUpto      int64 // for AbortedTransactions, -1 without

	firstIncomplete bool
}

// ReadRaw reads whole record batches into dst, as a broker sends them, from the one that holds the offset on: as many as
// fit. Nothing to read is no error. ErrBufferTooSmall with BytesNeeded says that not even the first batch fits.
//
// Only with ReadOptions.Follow it waits for records, as long as ctx lets it.
func (l *Log) ReadRaw(ctx context.Context, from int64, dst []byte, opts *ReadOptions) (ReadResult, error) {
	if ctx.Err() != nil {
		return ReadResult{}, l.named(cancelled(ctx))
	}
	for waited := false; ; waited = true {
		result, err := l.readRaw(from, dst, opts)
		if err != nil || opts == nil || !opts.Follow {
			return result, err
		}
		at, minBytes := from, uint64(0)
		switch {
		case result.Bytes > 0:
			minBytes = min(opts.MinBytes, uint64(len(dst)))
			if opts.MaxBytes > 0 {
				minBytes = min(minBytes, opts.MaxBytes)
			}
			if waited || uint64(result.Bytes) >= minBytes {
				return result, nil
			}
		case result.firstIncomplete:
			return result, nil
		default:
			at, minBytes = max(from, result.NextOffset), opts.MinBytes
		}
		if err := opts.await(ctx, l, at, minBytes, nil); err != nil {
			return result, err
		}
	}
}

func (l *Log) readRaw(from int64, dst []byte, opts *ReadOptions) (ReadResult, error) {
	defer runtime.KeepAlive(l)
	with := opts.c()
	c := C.klog_read_result{struct_size: C.sizeof_klog_read_result}
	err := cError()
	status := C.klog_read(l.c, C.int64_t(from), &with, first(dst), C.size_t(len(dst)), &c, &err)
	if status != C.KLOG_OK && status != C.KLOG_ERR_BUFFER_TOO_SMALL {
		return ReadResult{}, l.failed(status, &err)
	}
	return ReadResult{
		Bytes: int(c.bytes), BytesNeeded: int(c.bytes_needed), Batches: int(c.batches),
		FirstOffset: int64(c.first_offset), NextOffset: int64(c.next_offset), LogStartOffset: int64(c.log_start_offset),
		HighWatermark: int64(c.high_watermark), LastStableOffset: int64(c.last_stable_offset),
		LogEndOffset: int64(c.log_end_offset), AbortedUpto: int64(c.aborted_upto),
		firstIncomplete: c.flags&C.KLOG_READF_FIRST_INCOMPLETE != 0,
	}, l.failed(status, &err)
}

// RawBatch is a record batch as it is stored.
type RawBatch []byte

// BaseOffset is the batch's first offset.
func (b RawBatch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b)) }

// Magic is the batch's message format. Batches of formats 0 and 1 are single messages, and have none of what follows.
func (b RawBatch) Magic() int8 { return int8(b[16]) }

// LastOffset is the batch's last offset.
func (b RawBatch) LastOffset() int64 {
	if b.Magic() < 2 {
		return b.BaseOffset()
	}
	return b.BaseOffset() + int64(int32(binary.BigEndian.Uint32(b[23:])))
}

// Records is how many records the batch says it has.
func (b RawBatch) Records() int {
	if b.Magic() < 2 {
		return 1
	}
	return int(int32(binary.BigEndian.Uint32(b[57:])))
}

// NextBatch takes the first batch off what ReadRaw gave. Of an end that is no whole batch it gives nil.
func NextBatch(raw []byte) (batch RawBatch, rest []byte) {
	const head, leastBatch = 12, 17
	if len(raw) < leastBatch {
		return nil, nil
	}
	size := int64(int32(binary.BigEndian.Uint32(raw[8:]))) + head
	if size < leastBatch || size > int64(len(raw)) || (raw[16] >= 2 && size < 61) {
		return nil, nil
	}
	return RawBatch(raw[:size:size]), raw[size:]
}

// Batches gives the log's record batches from the one that holds the offset on, up to the log end, or with
// ReadOptions.Follow until ctx is done. A batch is valid until the next one is asked for. An error ends it.
func (l *Log) Batches(ctx context.Context, from int64, opts *ReadOptions) iter.Seq2[RawBatch, error] {
	return func(yield func(RawBatch, error) bool) {
		buf := make([]byte, bufferAtFirst)
		for {
			result, err := l.ReadRaw(ctx, from, buf, opts)
			if result.BytesNeeded > len(buf) {
				buf = make([]byte, result.BytesNeeded)
				continue
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if result.Bytes == 0 {
				return
			}
			for rest := buf[:result.Bytes]; len(rest) > 0; {
				var batch RawBatch
				if batch, rest = NextBatch(rest); batch != nil && !yield(batch, nil) {
					return
				}
			}
			from = result.NextOffset
		}
	}
}
