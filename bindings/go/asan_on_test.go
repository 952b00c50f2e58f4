//go:build asan

package klog_test

// The address sanitizer keeps on the heap what else is on the stack.
const sanitized = true
