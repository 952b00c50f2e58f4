//go:build !klog_dynamic && musl

package klog

// With -tags musl: the library as it was built for a system with musl, such as Alpine, put there by hand. `make go-lib` builds
// for the system that it runs on, which must be one with glibc.

/*
#cgo CFLAGS: -I${SRCDIR}/../../include
#cgo linux,amd64 LDFLAGS: ${SRCDIR}/lib/linux_amd64_musl/libklog.a
#cgo linux,arm64 LDFLAGS: ${SRCDIR}/lib/linux_arm64_musl/libklog.a
#cgo LDFLAGS: -lpthread -ldl -lm

#include <limits.h>
#if defined(__GLIBC__)
#error "-tags musl is for systems with musl; this one has glibc"
#endif
*/
import "C"
