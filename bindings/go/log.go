package klog

// #include "shim.h"
import "C"

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Log is a log of a manager: one partition of a topic. All its methods may be called from any goroutine at any time, also
// at once with Close.
type Log struct {
	id      LogID
	manager *Manager
	c       C.klog_log
	cleanup runtime.Cleanup
	closed  atomic.Bool
}

// LogOptions say how to open a log.
type LogOptions struct {
	// Create makes the log if there is none.
	Create bool
	// Config are the topic's overrides, instead of those that it has; nil leaves them. TopicConfig has the usual ones.
	Config Config
	// TopicID is the topic's id; a log with another one is ErrInconsistentTopicID.
	TopicID *[16]byte
	// ManualHighWatermark leaves it to SetHighWatermark to move the high watermark. Without it it follows the log end.
	ManualHighWatermark bool
	// Dir is the log directory to make the log in; empty is the one with the fewest logs.
	Dir string
}

// Log opens a log. If there is none, and opts does not say Create, the error is ErrUnknownTopicOrPartition. Two opens of
// one partition lead to one log.
func (m *Manager) Log(topic string, partition int32, opts *LogOptions) (*Log, error) {
	if opts == nil {
		opts = &LogOptions{}
	}
	with := C.klog_log_options{struct_size: C.sizeof_klog_log_options}
	if opts.Create {
		with.flags |= C.KLOG_LOG_CREATE
	}
	if opts.ManualHighWatermark {
		with.flags |= C.KLOG_LOG_MANUAL_HW
	}
	if opts.TopicID != nil {
		with.flags |= C.KLOG_LOG_HAS_TOPIC_ID
		for i, b := range opts.TopicID {
			with.topic_id[i] = C.uint8_t(b)
		}
	}
	if opts.Config != nil {
		config, failed := cConfig(C.KLOG_CONFIG_TOPIC, opts.Config)
		if failed != nil {
			return nil, failed
		}
		defer C.klog_config_close(config)
		with.config = config
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	if opts.Dir != "" {
		at, size := chars(opts.Dir)
		pinner.Pin(at)
		with.dir, with.dir_len = at, C.uint64_t(size)
	}
	l := &Log{id: LogID{topic, partition}, manager: m}
	at, size := chars(topic)
	if at == nil {
		at = (*C.char)(first([]byte{}))
	}
	err := cError()
	var c C.klog_log
	if status := C.klog_log_open(m.c, at, size, C.int32_t(partition), &with, &c, &err); status != C.KLOG_OK {
		return nil, l.failed(status, &err)
	}
	l.c = c
	m.handles.add(handle{uint64(c.id), func(id uint64) { C.klog_log_close(C.klog_log{id: C.uint64_t(id)}) }})
	l.cleanup = guard(l, &m.handles, uint64(c.id))
	return l, nil
}

// ID is the log's name.
func (l *Log) ID() LogID { return l.id }

// Close ends the use of the log by this object; the log stays open in its manager. It may be left to Manager.Close.
func (l *Log) Close() error {
	if l.closed.CompareAndSwap(false, true) {
		l.cleanup.Stop()
		l.manager.handles.remove(uint64(l.c.id))
	}
	return nil
}

// failed is an error of a call on this log.
func (l *Log) failed(status C.klog_status, err *C.klog_error) error {
	failed := newError(status, err)
	if e, is := failed.(*Error); is {
		e.Topic, e.Partition = l.id.Topic, l.id.Partition
	}
	return failed
}

// named puts the log's name into an error of a call on this log.
func (l *Log) named(failed error) error {
	if e, is := failed.(*Error); is {
		e.Topic, e.Partition = l.id.Topic, l.id.Partition
	}
	return failed
}

// EndOffset is the next offset to be assigned: the cheapest call.
func (l *Log) EndOffset() (int64, error) {
	defer runtime.KeepAlive(l)
	var end C.int64_t
	if status := C.klog_log_end_offset(l.c, &end); status != C.KLOG_OK {
		return 0, l.named(statusError(status))
	}
	return int64(end), nil
}

// LogInfo is a log at one moment.
type LogInfo struct {
	LogStartOffset   int64
	HighWatermark    int64
	LastStableOffset int64
	LogEndOffset     int64
	RecoveryPoint    int64 // below it everything was flushed
	FirstDirtyOffset int64 // below it the log was compacted; -1 if it never was
	LatestEpoch      int32 // -1 for none
	Segments         uint64
	Bytes            uint64
	Producers        uint64
	TopicID          *[16]byte // nil without one
}

// Info gives offsets, epochs and sizes: one consistent snapshot.
func (l *Log) Info() (LogInfo, error) {
	defer runtime.KeepAlive(l)
	c := C.klog_log_info{struct_size: C.sizeof_klog_log_info}
	err := cError()
	if status := C.klog_log_get_info(l.c, &c, &err); status != C.KLOG_OK {
		return LogInfo{}, l.failed(status, &err)
	}
	info := LogInfo{
		LogStartOffset: int64(c.log_start_offset), HighWatermark: int64(c.high_watermark),
		LastStableOffset: int64(c.last_stable_offset), LogEndOffset: int64(c.log_end_offset),
		RecoveryPoint: int64(c.recovery_point), FirstDirtyOffset: int64(c.first_dirty_offset),
		LatestEpoch: int32(c.latest_epoch),
		Segments:    uint64(c.segments), Bytes: uint64(c.bytes), Producers: uint64(c.producers),
	}
	if c.flags&C.KLOG_LOG_HAS_TOPIC_ID != 0 {
		info.TopicID = new([16]byte)
		for i, b := range c.topic_id {
			info.TopicID[i] = byte(b)
		}
	}
	return info, nil
}

// SetConfig gives the log's topic these overrides, instead of those that it had. All logs of the topic go by them.
func (l *Log) SetConfig(overrides Config) error {
	defer runtime.KeepAlive(l)
	config, failed := cConfig(C.KLOG_CONFIG_TOPIC, overrides)
	if failed != nil {
		return failed
	}
	defer C.klog_config_close(config)
	err := cError()
	return l.failed(C.klog_log_set_config(l.c, config, &err), &err)
}

// Flush makes everything below upto durable, -1 for all of the log.
func (l *Log) Flush(upto int64) error {
	defer runtime.KeepAlive(l)
	err := cError()
	return l.failed(C.klog_flush(l.c, C.int64_t(upto), 0, &err), &err)
}

// Roll begins a new segment at the log end, and answers its base offset.
func (l *Log) Roll() (int64, error) {
	defer runtime.KeepAlive(l)
	var base C.int64_t
	err := cError()
	status := C.klog_roll(l.c, &base, &err)
	return int64(base), l.failed(status, &err)
}

// Delete deletes the log: it is gone for every call when this returns. Its files follow after file.delete.delay.ms.
func (l *Log) Delete() error {
	defer runtime.KeepAlive(l)
	err := cError()
	return l.failed(C.klog_log_delete(l.c, 0, &err), &err)
}

// Move moves the log to another of its manager's directories, by its number in Manager.Dirs. Appends and reads go on
// meanwhile. If ctx is done what was copied stays, and the next Move goes on from there.
func (l *Log) Move(ctx context.Context, toDir int) error {
	defer runtime.KeepAlive(l)
	return l.named(cancellable(ctx, func(token C.klog_cancel, err *C.klog_error) C.klog_status {
		return C.klog_log_move(l.c, C.uint32_t(toDir), -1, token, err)
	}))
}

// Refresh takes in what the owner of the directory did to this log, with Options.ReadOnly.
func (l *Log) Refresh() error {
	defer runtime.KeepAlive(l)
	err := cError()
	return l.failed(C.klog_manager_refresh(l.manager.c, l.c, &err), &err)
}
