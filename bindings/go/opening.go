package klog

// #include "shim.h"
import "C"

import (
	"strconv"
	"strings"
)

// OpenProgress is how far the opening of a log directory is.
type OpenProgress struct {
	Logs         uint64 // that were found; 0 until it was looked at
	LogsLeft     uint64 // that are not loaded yet
	SegmentsLeft uint64 // to be read again, of the logs that are being loaded
	BytesTotal   uint64 // to be read again, of all logs that were looked at so far
	BytesDone    uint64
	Loading      []LoadingLog
}

// LoadingLog is a log that is being loaded.
type LoadingLog struct {
	LogID
	Thread       uint64
	SegmentsLeft uint64
	BytesTotal   uint64
	BytesDone    uint64
}

// Opening tells how far the opening of a directory is, for another goroutine while Open runs, which may take minutes. The
// directory is named as it was there. It is false while no Open of this process has it: before Open owns it, and once it is done.
func Opening(dir string) (progress OpenProgress, is bool, failed error) {
	at, size := chars(dir)
	if at == nil {
		at = (*C.char)(first([]byte{}))
	}
	c := C.klog_open_progress{struct_size: C.sizeof_klog_open_progress}
	told, failed := text(func(buf *C.char, room C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status {
		return C.klog_manager_open_progress(at, size, &c, buf, room, needed, err)
	})
	if e, is := failed.(*Error); is && e.Status == statusEnd {
		return OpenProgress{}, false, nil
	}
	if failed != nil {
		return OpenProgress{}, false, failed
	}
	progress = OpenProgress{
		Logs: uint64(c.logs_total), LogsLeft: uint64(c.logs_left), SegmentsLeft: uint64(c.segments_left),
		BytesTotal: uint64(c.bytes_total), BytesDone: uint64(c.bytes_done),
	}
	for _, line := range lines(told) {
		of := append(strings.Split(line, "\t"), "", "", "", "", "")
		number := func(i int) uint64 {
			value, _ := strconv.ParseUint(of[i], 10, 64)
			return value
		}
		progress.Loading = append(progress.Loading, LoadingLog{logID(of[0]), number(1), number(2), number(3), number(4)})
	}
	return progress, true, nil
}
