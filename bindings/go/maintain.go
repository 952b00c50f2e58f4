package klog

// #include "shim.h"
import "C"

import "runtime"

// TruncateTo cuts the log at an offset, durably: it is the next one to be assigned then. The whole batch that holds it
// goes. It answers whether anything was cut.
func (l *Log) TruncateTo(offset int64) (bool, error) {
	defer runtime.KeepAlive(l)
	var cut C.uint32_t
	err := cError()
	status := C.klog_truncate_to(l.c, C.int64_t(offset), &cut, &err)
	return cut != 0, l.failed(status, &err)
}

// TruncateFully drops all records, durably. The log goes on at next, and starts at start, or at next if that is -1.
func (l *Log) TruncateFully(next, start int64) error {
	defer runtime.KeepAlive(l)
	err := cError()
	return l.failed(C.klog_truncate_fully(l.c, C.int64_t(next), C.int64_t(start), &err), &err)
}

// DeleteRecords deletes the records below an offset for readers, durably; -1 is the high watermark. Their bytes go when
// retention takes their segments. It answers where the log starts now.
func (l *Log) DeleteRecords(before int64) (logStart int64, failed error) {
	defer runtime.KeepAlive(l)
	var start C.int64_t
	err := cError()
	status := C.klog_delete_records(l.c, C.int64_t(before), &start, &err)
	return int64(start), l.failed(status, &err)
}

// RetainOptions say how retention is done.
type RetainOptions struct {
	// DryRun counts what would go; nothing goes.
	DryRun bool
}

// RetainResult is what retention took.
type RetainResult struct {
	Segments       uint64
	Bytes          uint64
	LogStartOffset int64 // -1 over all logs
}

// Retain does one pass of retention now, over all logs that are managed and not compacted: segments go that lie below the
// log start, are too much for retention.bytes, or too old for retention.ms.
func (m *Manager) Retain(opts *RetainOptions) (RetainResult, error) {
	result, status, err := retain(m, C.klog_log{}, opts)
	return result, newError(status, &err)
}

// Retain does one pass of retention over this log, whether its topic is managed or not.
func (l *Log) Retain(opts *RetainOptions) (RetainResult, error) {
	defer runtime.KeepAlive(l)
	result, status, err := retain(l.manager, l.c, opts)
	return result, l.failed(status, &err)
}

func retain(m *Manager, only C.klog_log, opts *RetainOptions) (RetainResult, C.klog_status, C.klog_error) {
	var flags C.uint32_t
	if opts != nil && opts.DryRun {
		flags = C.KLOG_DRY_RUN
	}
	c := C.klog_retain_result{struct_size: C.sizeof_klog_retain_result}
	err := cError()
	status := C.klog_retain(m.c, only, flags, &c, &err)
	return RetainResult{uint64(c.segments_deleted), uint64(c.bytes_deleted), int64(c.log_start_offset)}, status, err
}
