//go:build klog_dynamic

package klog

// The library that is installed, found by pkg-config.

/*
#cgo pkg-config: klog
*/
import "C"
