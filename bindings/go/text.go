package klog

// #include "shim.h"
import "C"

import (
	"strings"
	"unsafe"
)

// chars is a text as the library takes it: its first byte and its length. The string must stay alive while it is used.
func chars(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

// first is where a slice's bytes are; nil only for nil, as the library tells no value from an empty one by it.
func first(b []byte) unsafe.Pointer {
	if b == nil {
		return nil
	}
	if cap(b) == 0 {
		return unsafe.Pointer(&empty)
	}
	return unsafe.Pointer(unsafe.SliceData(b))
}

// empty is where values of no bytes are.
var empty byte

// text asks for a text whose length is not known: with more room each time, until it fits.
func text(ask func(buf *C.char, size C.size_t, needed *C.size_t, err *C.klog_error) C.klog_status) (string, error) {
	buf := make([]byte, 4096)
	for {
		err := cError()
		var needed C.size_t
		status := ask((*C.char)(unsafe.Pointer(&buf[0])), C.size_t(len(buf)), &needed, &err)
		if status == C.KLOG_ERR_BUFFER_TOO_SMALL {
			buf = make([]byte, int(needed)+int(needed)/8)
			continue
		}
		if status != C.KLOG_OK {
			return "", newError(status, &err)
		}
		return string(buf[:max(int(needed), 1)-1]), nil
	}
}

// fields takes apart a line of fields with tabs in between, in which tab, LF and backslash are escaped.
func fields(line string) []string {
	all := strings.Split(line, "\t")
	for i, field := range all {
		if strings.Contains(field, `\`) {
			all[i] = unescape.Replace(field)
		}
		if field == "-" {
			all[i] = ""
		}
	}
	return all
}

var unescape = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n")

// lines splits a text that ends each line with LF.
func lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
