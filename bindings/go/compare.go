package klog

// #include "compare.h"
import "C"

import "time"

// emptyCall is what a call costs.
func emptyCall() { C.klog_go_nothing() }

// libraryScan reads a log with the C cursor from C, for benchmarks to compare with.
func libraryScan(l *Log) int { return int(C.klog_go_scan(l.c)) }

// libraryAppend appends records that are alike from C, for benchmarks to compare with.
func libraryAppend(l *Log, key, value []byte, t time.Time, count int) Status {
	return Status(C.klog_go_append(l.c, first(key), C.size_t(len(key)), first(value), C.size_t(len(value)),
		C.int64_t(t.UnixMilli()), C.size_t(count)))
}
