//go:build !cgo

package klog

// klog is called through cgo. The name below is declared nowhere, so that the compiler prints the cure.
var _ = klog_needs_cgo__set_CGO_ENABLED_1_and_CC
