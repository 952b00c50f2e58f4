package klog

// #include "shim.h"
import "C"

import (
	"runtime"
	"time"
)

// TimeOffset is a record found by its time.
type TimeOffset struct {
	// Offset of the record, -1 if none qualifies.
	Offset int64
	// Timestamp of the record, NoTimestamp for the ends of the log.
	Timestamp time.Time
	// LeaderEpoch of its batch, -1 for none.
	LeaderEpoch int32
}

// Times that OffsetForTime takes beside real ones.
var (
	// Latest is the log end.
	Latest = time.UnixMilli(-1)
	// Earliest is the log start.
	Earliest = time.UnixMilli(-2)
	// MaxTimestamp is the first record with the largest timestamp.
	MaxTimestamp = time.UnixMilli(-3)
)

// OffsetForTime finds the first record at or after t, as a consumer's offsetsForTimes does, or one of Latest, Earliest and
// MaxTimestamp.
func (l *Log) OffsetForTime(t time.Time) (TimeOffset, error) {
	defer runtime.KeepAlive(l)
	c := C.klog_timestamp_offset{struct_size: C.sizeof_klog_timestamp_offset}
	err := cError()
	if status := C.klog_offset_for_timestamp(l.c, C.int64_t(t.UnixMilli()), &c, &err); status != C.KLOG_OK {
		return TimeOffset{Offset: -1}, l.failed(status, &err)
	}
	return TimeOffset{int64(c.offset), time.UnixMilli(int64(c.timestamp_ms)), int32(c.leader_epoch)}, nil
}

// OffsetForEpoch is where a leader epoch ends: the highest epoch of the log at or below it, and the offset behind that
// epoch's last record; -1 for both if the log cannot know the epoch.
func (l *Log) OffsetForEpoch(epoch int32) (found int32, end int64, failed error) {
	defer runtime.KeepAlive(l)
	c := C.klog_epoch_offset{struct_size: C.sizeof_klog_epoch_offset}
	err := cError()
	if status := C.klog_offset_for_epoch(l.c, C.int32_t(epoch), &c, &err); status != C.KLOG_OK {
		return -1, -1, l.failed(status, &err)
	}
	return int32(c.leader_epoch), int64(c.end_offset), nil
}

// AssignEpoch notes, durably, that a leader epoch begins at an offset.
func (l *Log) AssignEpoch(epoch int32, start int64) error {
	defer runtime.KeepAlive(l)
	err := cError()
	return l.failed(C.klog_epoch_assign(l.c, C.int32_t(epoch), C.int64_t(start), &err), &err)
}

// SetHighWatermark moves the high watermark to an offset, or to the nearest that it can be, and answers what it is. It is
// the caller's to move with LogOptions.ManualHighWatermark or Options.HighWatermarkFromCheckpoint.
func (l *Log) SetHighWatermark(offset int64) (int64, error) {
	defer runtime.KeepAlive(l)
	var now C.int64_t
	err := cError()
	status := C.klog_high_watermark_set(l.c, C.int64_t(offset), &now, &err)
	return int64(now), l.failed(status, &err)
}

// AbortedTransaction is a transaction that was aborted.
type AbortedTransaction struct {
	ProducerID       int64
	FirstOffset      int64
	LastOffset       int64
	LastStableOffset int64
}

// AbortedTransactions are those that a reader of batches leaves out: those with a marker at or above from that began below
// upto.
func (l *Log) AbortedTransactions(from, upto int64) ([]AbortedTransaction, error) {
	defer runtime.KeepAlive(l)
	buf := make([]C.klog_aborted_txn, 16)
	for {
		var needed C.size_t
		err := cError()
		status := C.klog_aborted_txns(l.c, C.int64_t(from), C.int64_t(upto), &buf[0], C.size_t(len(buf)), &needed, &err)
		if status == C.KLOG_ERR_BUFFER_TOO_SMALL {
			buf = make([]C.klog_aborted_txn, needed)
			continue
		}
		if status != C.KLOG_OK {
			return nil, l.failed(status, &err)
		}
		var all []AbortedTransaction
		for _, c := range buf[:needed] {
			all = append(all, AbortedTransaction{
				int64(c.producer_id), int64(c.first_offset), int64(c.last_offset), int64(c.last_stable_offset),
			})
		}
		return all, nil
	}
}

// Producers tells, in lines of text, every producer that the log knows and the batches that are remembered of it:
//
//	producer ID epoch=E last_seq=S last_offset=O offset_delta=D ts=T coordinator_epoch=C txn_first=F
//	pbatch ID seq=A..B offset=A..B ts=T
func (l *Log) Producers() (string, error) {
	defer runtime.KeepAlive(l)
	told, err := text(func(buf *C.char, size C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status {
		return C.klog_producers(l.c, buf, size, needed, err)
	})
	return told, l.named(err)
}
