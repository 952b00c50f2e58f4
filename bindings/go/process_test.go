package klog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	klog "klog/bindings/go"
)

// What tests leave open because there is no other way.
var keptForEver uint64

// Nothing is open when all tests are through.
func TestMain(m *testing.M) {
	status := m.Run()
	if status == 0 {
		status = leaks()
	}
	os.Exit(status)
}

func leaks() int {
	dir, err := os.MkdirTemp("", "klog")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{NoBackground: true})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer manager.Close()
	info, err := manager.Info()
	// This manager is open, and what it asked for.
	if err != nil || info.OpenHandles != 1+keptForEver || info.PinnedBytes != 0 {
		fmt.Printf("after all tests: %+v, %v; 1 handle and %d are expected\n", info, err, keptForEver)
		return 1
	}
	return 0
}

// signals are this thread's and process's, as the system tells them: which are handled, ignored, blocked.
func signals(t *testing.T) []string {
	text := string(must[[]byte](t)(os.ReadFile("/proc/thread-self/status")))
	return regexp.MustCompile(`(?m)^(Sig(Cgt|Ign|Blk)):.*$`).FindAllString(text, -1)
}

// ofLibrary are the names of the library's threads.
func ofLibrary(t *testing.T) (names []string) {
	files, err := filepath.Glob("/proc/self/task/*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(name), "klog") {
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names
}

// HC44 (e): the process is Go's. No signal is handled otherwise, and no thread is left behind a close.
func TestTheLibraryLeavesSignalsAndThreadsAlone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := signals(t)
	if len(before) != 3 {
		t.Fatal(before)
	}
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{t.TempDir()}, nil))
	log := logOf(t, manager, klog.TopicConfig{Compact: true}.Config())
	appender := must[*klog.Appender](t)(log.Appender(nil))
	ticket := must[klog.Ticket](t)(appender.Add(ctx, record("k", "v")))
	must[klog.AppendResult](t)(ticket.Wait(ctx))
	// A thread that cleans may be at it.
	for {
		if _, err := log.Clean(within(t), &klog.CleanOptions{Roll: true}); err == nil {
			break
		} else if !errors.Is(err, klog.ErrBusy) {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	answer := waiting(t, log, within(t), klog.WaitLogEnd, 1)
	must[int64](t)(log.AppendOne([]byte("k"), nil, time.Time{}))
	<-answer
	if now := signals(t); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Error(now, "were", before)
	}
	if names := ofLibrary(t); len(names) == 0 {
		t.Error("the library has no thread in the background, or not its name")
	}
	if err := manager.Close(); err != nil {
		t.Error(err)
	}
	if names := ofLibrary(t); len(names) != 0 {
		t.Error("left behind:", names)
	}
	if now := signals(t); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Error(now, "were", before)
	}
}
