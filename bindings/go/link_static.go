//go:build !klog_dynamic && !musl

package klog

// The library of this repository, linked in. `make go-lib` builds it, and writes klog_library.h beside this file: that
// header holds the library's checksum, so that the go command, which hashes headers but not archives, links anew when
// the library has changed.

/*
#cgo CFLAGS: -I${SRCDIR}/../../include
#cgo linux,amd64 LDFLAGS: ${SRCDIR}/lib/linux_amd64/libklog.a
#cgo linux,arm64 LDFLAGS: ${SRCDIR}/lib/linux_arm64/libklog.a
#cgo LDFLAGS: -lpthread -ldl -lm

#if !__has_include("klog_library.h")
#error "klog's library is not built: run `make go-lib` at the root of klog's repository, or build with -tags klog_dynamic"
#else
#include "klog_library.h"
#endif
*/
import "C"
