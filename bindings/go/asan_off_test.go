//go:build !asan

package klog_test

const sanitized = false
