//go:build !klog_debug

package klog

// With -tags klog_debug memory that records lose is overwritten, and leaks are told with where they came from.

func noteSite() []byte  { return nil }
func tellLeak(_ []byte) {}
func spoil(_ []byte)    {}

func collect() {}
