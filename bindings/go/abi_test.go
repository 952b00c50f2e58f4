package klog

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Functions of the library that this package does not call, each with the reason.
var notCalled = map[string]string{
	"klog_append":       "records cross packed: klog_append_packed",
	"klog_append_many":  "records cross packed: klog_append_many_packed",
	"klog_appender_add": "records cross packed: klog_appender_add_packed",
	"klog_cursor_next":  "records cross packed: klog_cursor_next_packed",
	"klog_decode":       "records cross packed: klog_decode_packed",
	"klog_encode":       "records cross packed: klog_encode_packed",
}

// Constants of the header that this package does not use, each with the reason.
var notUsed = map[string]string{
	"KLOG_H":                             "guards the header",
	"KLOG_STATIC_ASSERT":                 "is C's",
	"KLOG_NODISCARD":                     "is C's",
	"KLOG_INIT":                          "is C's",
	"KLOG_NTS":                           "Go's strings have a length",
	"KLOG_TIMESTAMP_NONE":                "NoTimestamp, by its value",
	"KLOG_TIMESTAMP_NOW":                 "the zero Time, by its value",
	"KLOG_TIMESTAMP_LATEST":              "Latest, by its value",
	"KLOG_TIMESTAMP_EARLIEST":            "Earliest, by its value",
	"KLOG_TIMESTAMP_MAX":                 "MaxTimestamp, by its value",
	"KLOG_RECORD_HAS_TIMESTAMP":          "of records that are not packed",
	"KLOG_RECORD_CONTROL":                "of records that are not packed",
	"KLOG_RECORD_TRANSACTIONAL":          "of records that are not packed",
	"KLOG_RECORD_LOG_APPEND_TIME":        "of records that are not packed",
	"KLOG_ERRF_MESSAGE_CUT":              "the text that there is says as much",
	"KLOG_ERRF_PATH_CUT":                 "the text that there is says as much",
	"KLOG_ERR_REENTRANT":                 "there are no callbacks",
	"KLOG_ERR_WOULD_BLOCK":               "never answered",
	"KLOG_ERR_DUPLICATE_SEQUENCE_NUMBER": "reserved, never answered",
	"KLOG_ERR_PRODUCER_FENCED":           "reserved, never answered",
	"KLOG_ERR_UNKNOWN_PRODUCER_ID":       "reserved, never answered",
}

// sources is all code of the package, but for tests and for what they compare with.
func sources(t *testing.T) string {
	var all strings.Builder
	for _, pattern := range []string{"*.go", "*.h"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "compare.") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	// What a comment names is not called.
	return regexp.MustCompile(`(?m)//[^"\n]*$|^#cgo .*$`).ReplaceAllString(all.String(), "")
}

// check compares what there is with what a pattern finds in the code.
func check(t *testing.T, names []string, pattern string, excused map[string]string) {
	t.Helper()
	used, there := map[string]bool{}, map[string]bool{}
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(sources(t), -1) {
		used[found[1]] = true
	}
	for _, name := range names {
		there[name] = true
		switch reason := excused[name]; {
		case !used[name] && reason == "":
			t.Errorf("%s is not used: give it a place in this package, or a reason in this test", name)
		case used[name] && reason != "":
			t.Errorf("%s is used, although %s", name, reason)
		}
	}
	for name := range excused {
		if !there[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestEveryFunctionOfTheLibraryHasItsPlace(t *testing.T) {
	text, err := os.ReadFile("../../packaging/klog.map")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`klog_[a-z_]+`).FindAllString(regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(text), ""), -1)
	if len(names) < 80 {
		t.Fatal("the list has only", names)
	}
	check(t, names, `\b(klog_[a-z_]+)\(`, notCalled)
}

func TestEveryConstantOfTheLibraryHasItsPlace(t *testing.T) {
	text, err := os.ReadFile("../../include/klog.h")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, found := range regexp.MustCompile(`(?m)^#define (KLOG_[A-Z0-9_]+)`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	if len(names) < 100 {
		t.Fatal("the header has only", names)
	}
	check(t, names, `\b(KLOG_[A-Z0-9_]+)\b`, notUsed)
}
