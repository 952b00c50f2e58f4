//go:build klog_debug

package klog

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

var calls atomic.Uint64

// collect runs the garbage collector now and then, between the taking of a handle and the call that uses it: an object that
// is not kept alive for its call is gone then.
func collect() {
	if calls.Add(1)%200 == 0 {
		runtime.GC()
	}
}

// noteSite is where an object was made.
func noteSite() []byte { return debug.Stack() }

func tellLeak(site []byte) {
	slog.Warn("klog: collected without having been closed", "made", string(site))
}

// spoil overwrites memory that records pointed to until now, so that who kept one sees it.
func spoil(buf []byte) {
	for i := range buf {
		buf[i] = 0xDB
	}
}
