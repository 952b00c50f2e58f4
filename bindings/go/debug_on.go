//go:build klog_debug

package klog

import (
	"log/slog"
	"runtime/debug"
)

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
