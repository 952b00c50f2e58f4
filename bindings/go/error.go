package klog

// #include "shim.h"
import "C"

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// Error is what failed calls return: as fields, so that nobody has to take a text apart. Get at it with errors.As.
//
// errors.Is finds the status (klog.ErrOffsetOutOfRange), the operating system's error (syscall.ENOSPC), the cause of a
// cancellation (context.Canceled), and os.ErrClosed, os.ErrDeadlineExceeded and fs.ErrNotExist where they apply.
type Error struct {
	// Status says why.
	Status Status
	// Kafka is what a broker would answer; 0 where Kafka has no counterpart.
	Kafka KafkaCode
	// Errno is the operating system's error number, 0 without one.
	Errno syscall.Errno
	// Topic is the topic of the log that the call was made on; empty if it was made on none.
	Topic string
	// Partition is the one concerned, -1 if none.
	Partition int32
	// Offset is that of the record concerned, -1 if none.
	Offset int64
	// Position is where in a file or buffer, -1 if nowhere. With ErrBufferTooSmall it may say how much is needed.
	Position int64
	// RecordIndex is the index in the input, or the line of a text; -1 if none.
	RecordIndex int32
	// Refused says which records of an append were refused, and why.
	Refused []RefusedRecord
	// Path is the file or directory concerned, empty if none.
	Path string
	// Msg is one sentence: what was expected, what was found, what to do.
	Msg string
	// Retriable: the same call may succeed later.
	Retriable bool
	// Fatal: close the manager.
	Fatal bool
	// DirOffline: the log's directory went out of use.
	DirOffline bool
	// Misuse: the call was wrong whatever the log holds, an option that does not exist or an offset below 0.
	Misuse bool

	cause error
}

// RefusedRecord is why one record of an append was refused.
type RefusedRecord struct {
	Index int32
	Kafka KafkaCode
}

// Error is the status and the sentence.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("klog: ")
	if e.Topic != "" {
		fmt.Fprintf(&text, "%s-%d: ", e.Topic, e.Partition)
	}
	text.WriteString(e.Status.String())
	if e.Msg != "" {
		text.WriteString(": " + e.Msg)
	}
	if e.Path != "" && !strings.Contains(e.Msg, e.Path) {
		text.WriteString(": " + e.Path)
	}
	return text.String()
}

// Is says whether target is the error's status, or the standard library's error for the same.
func (e *Error) Is(target error) bool {
	switch target {
	case e.Status:
		return true
	case os.ErrClosed:
		return e.Status == ErrClosed
	case os.ErrDeadlineExceeded:
		return e.Status == ErrTimedOut
	case fs.ErrNotExist:
		return e.Status == ErrUnknownTopicOrPartition || e.Status == ErrLogDirNotFound
	}
	return false
}

// Unwrap gives the operating system's error and the cause of a cancellation, as far as there are any.
func (e *Error) Unwrap() []error {
	var all []error
	if e.Errno != 0 {
		all = append(all, e.Errno)
	}
	if e.cause != nil {
		all = append(all, e.cause)
	}
	return all
}

// newError takes over what the library said. It is nil for KLOG_OK. The library's text is copied, and err is not kept.
func newError(status C.klog_status, err *C.klog_error) error {
	if status == C.KLOG_OK {
		return nil
	}
	e := &Error{
		Status:      Status(status),
		Kafka:       KafkaCode(err.kafka_code),
		Errno:       syscall.Errno(err.os_errno),
		Partition:   int32(err.partition),
		Offset:      int64(err.offset),
		Position:    int64(err.position),
		RecordIndex: int32(err.record_index),
		Msg:         string(unsafe.Slice((*byte)(unsafe.Pointer(&err.message)), err.message_len)),
		Path:        string(unsafe.Slice((*byte)(unsafe.Pointer(&err.path)), err.path_len)),
		Retriable:   err.flags&C.KLOG_ERRF_RETRIABLE != 0,
		Fatal:       err.flags&C.KLOG_ERRF_FATAL != 0,
		DirOffline:  err.flags&C.KLOG_ERRF_DIR_OFFLINE != 0,
		Misuse:      err.flags&C.KLOG_ERRF_CALLER_BUG != 0,
	}
	// This package holds the handles, so one that the library no longer knows was closed.
	if status == C.KLOG_ERR_STALE_HANDLE {
		e.Status = ErrClosed
	}
	return e
}

// statusError is for the few calls that tell nothing but a status.
func statusError(status C.klog_status) error {
	err := C.klog_error{partition: -1, offset: -1, position: -1, record_index: -1}
	return newError(status, &err)
}

// cError is room for what the library says about a failure.
func cError() C.klog_error {
	collect()
	return C.klog_error{struct_size: C.sizeof_klog_error}
}
