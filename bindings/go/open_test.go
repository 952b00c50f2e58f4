package klog_test

import (
	"context"
	"testing"
	"time"

	klog "klog/bindings/go"
)

var ctx = context.Background()

// opened is a manager of an empty directory, closed at the end of the test.
func opened(t testing.TB, opts *klog.Options) *klog.Manager {
	t.Helper()
	if opts == nil {
		opts = &klog.Options{NoBackground: true}
	}
	manager, err := klog.Open(ctx, []string{t.TempDir()}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := manager.Close(); err != nil {
			t.Error(err)
		}
	})
	return manager
}

// created is a log of a new manager.
func created(t testing.TB, config klog.Config) *klog.Log {
	t.Helper()
	return logOf(t, opened(t, nil), config)
}

func logOf(t testing.TB, manager *klog.Manager, config klog.Config) *klog.Log {
	t.Helper()
	log, err := manager.Log("orders", 0, &klog.LogOptions{Create: true, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// must fails the test on an error.
func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func record(key, value string) klog.Record {
	return klog.Record{Key: []byte(key), Value: []byte(value), Timestamp: time.UnixMilli(t0)}
}
