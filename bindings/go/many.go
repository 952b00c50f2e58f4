package klog

// #include "shim.h"
import "C"

import (
	"errors"
	"runtime"
	"time"
	"unsafe"
)

// AppendItem is one append of AppendMany.
type AppendItem struct {
	// Log is where to append.
	Log *Log
	// Records become one batch; or those of Batch do, if that is not nil.
	Records []Record
	Batch   *Batch

	// FirstOffset and LastOffset are what was assigned, -1 if nothing was appended.
	FirstOffset, LastOffset int64
	// LogAppendTime is NoTimestamp unless the topic's timestamps are that.
	LogAppendTime time.Time
	// Err is nil, or why this one was not appended.
	Err error
}

// AppendMany appends to many logs in one call: each item is a batch of its own, as Append would append it, and gets its own
// answer. Items are appended in order, several of one log too; one that fails does not keep the others from being appended.
// With Durability Fsync each log is synced once, after all items.
//
// The error is the first item's that failed. If it is that of no item, an argument of the call is wrong, and nothing was
// appended. ExpectedLogEnd is for one log, and not for this.
func (m *Manager) AppendMany(items []AppendItem, opts *AppendOptions) error {
	if len(items) == 0 {
		return nil
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	c := make([]C.klog_packed_item, len(items))
	for i := range items {
		item, b := &items[i], items[i].Batch
		if item.Log == nil {
			err := statusError(C.KLOG_ERR_INVALID_ARGUMENT).(*Error)
			err.RecordIndex, err.Msg = int32(i), "the item has no log"
			return err
		}
		if b == nil {
			b = batches.Get().(*Batch)
			b.Reset()
			for r := range item.Records {
				b.Add(&item.Records[r])
			}
			if cap(b.buf) <= batchKept {
				defer batches.Put(b)
			}
		}
		packed := b.packed()
		at := unsafe.Pointer(unsafe.SliceData(packed))
		pinner.Pin(at)
		c[i] = C.klog_packed_item{log: item.Log.c, packed: at, len: C.uint64_t(len(packed)), first_offset: -1, last_offset: -1}
	}
	with := opts.c()
	err := cError()
	status := C.klog_append_many_packed(m.c, &c[0], C.size_t(len(c)), &with, &err)
	runtime.KeepAlive(items)
	failed := newError(status, &err)
	for i := range items {
		items[i].answer(&c[i])
	}
	return firstFailed(items, failed)
}

// answer takes over what the library said of an item.
func (item *AppendItem) answer(c *C.klog_packed_item) {
	item.FirstOffset, item.LastOffset = int64(c.first_offset), int64(c.last_offset)
	item.LogAppendTime, item.Err = time.UnixMilli(int64(c.log_append_time_ms)), nil
	if c.status != C.KLOG_OK {
		err := item.Log.named(statusError(c.status)).(*Error)
		err.Kafka = KafkaCode(c.kafka_code)
		item.Err = err
	}
}

// firstFailed gives what the library told of the first failure to the item that it is of.
func firstFailed(items []AppendItem, failed error) error {
	e, is := failed.(*Error)
	if !is {
		return nil
	}
	for i := range items {
		if errors.Is(items[i].Err, e.Status) {
			items[i].Err = items[i].Log.named(e)
			return items[i].Err
		}
	}
	return failed
}
