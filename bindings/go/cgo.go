package klog

// No function of the library calls back or keeps a pointer after its return, so the go command may leave arguments on the
// stack and skip what a callback would need. The functions named here are those on the paths of data.

/*
#include "shim.h"

#cgo noescape klog_go_append_packed
#cgo nocallback klog_go_append_packed
#cgo noescape klog_go_append_batches
#cgo nocallback klog_go_append_batches
#cgo noescape klog_append_one
#cgo nocallback klog_append_one
#cgo noescape klog_read
#cgo nocallback klog_read
#cgo noescape klog_cursor_open
#cgo nocallback klog_cursor_open
#cgo noescape klog_cursor_next_packed
#cgo nocallback klog_cursor_next_packed
#cgo noescape klog_cursor_seek
#cgo nocallback klog_cursor_seek
#cgo nocallback klog_cursor_close
#cgo noescape klog_log_end_offset
#cgo nocallback klog_log_end_offset
#cgo noescape klog_log_get_info
#cgo nocallback klog_log_get_info
#cgo noescape klog_offset_for_timestamp
#cgo nocallback klog_offset_for_timestamp
#cgo noescape klog_flush
#cgo nocallback klog_flush
#cgo noescape klog_wait
#cgo nocallback klog_wait
#cgo noescape klog_waiter_arm
#cgo nocallback klog_waiter_arm
#cgo noescape klog_waiter_poll
#cgo nocallback klog_waiter_poll
#cgo noescape klog_appender_add_packed
#cgo nocallback klog_appender_add_packed
#cgo noescape klog_appender_wait
#cgo nocallback klog_appender_wait
#cgo noescape klog_appender_flush
#cgo nocallback klog_appender_flush
#cgo noescape klog_view_open
#cgo nocallback klog_view_open
#cgo nocallback klog_view_close
#cgo noescape klog_decode_packed
#cgo nocallback klog_decode_packed
#cgo noescape klog_encode_packed
#cgo nocallback klog_encode_packed
*/
import "C"
