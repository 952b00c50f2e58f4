// Retention: what is older than retention.ms goes, segment by segment; first only told, then done. The clock is the program's
// own, so that time passes when it says so, and nothing runs but what it calls.
//
// Usage: retention DIR
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	klog "klog/bindings/go"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) (failed error) {
	start := time.UnixMilli(1700000000000)
	// A program without a clock of its own leaves Clock out; then a thread of the library does what is due.
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{
		CreateDirs: true,
		Clock:      start,
		Topics:     map[string]klog.Config{"orders": klog.TopicConfig{Retention: 10 * time.Second, SegmentAge: 2 * time.Second}.Config()},
	})
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, manager.Close()) }()
	orders, err := manager.Log("orders", 0, &klog.LogOptions{Create: true})
	if err != nil {
		return err
	}
	for n := range 9 {
		if _, err := orders.AppendOne(nil, []byte("order"), start.Add(time.Duration(n)*time.Second)); err != nil {
			return err
		}
	}
	if err := show(orders, "appended"); err != nil {
		return err
	}
	// Sets the clock, and runs what is due.
	if _, err := manager.Tick(start.Add(14 * time.Second)); err != nil {
		return err
	}
	counted, err := orders.Retain(&klog.RetainOptions{DryRun: true})
	if err != nil {
		return err
	}
	fmt.Printf("%d segments would go\n", counted.Segments)
	if err := show(orders, "nothing has"); err != nil {
		return err
	}
	retained, err := orders.Retain(nil)
	if err != nil {
		return err
	}
	fmt.Printf("%d segments went\n", retained.Segments)
	return show(orders, "after retention")
}

func show(orders *klog.Log, when string) error {
	info, err := orders.Info()
	if err != nil {
		return err
	}
	fmt.Printf("%s: offsets %d..%d in %d segments\n", when, info.LogStartOffset, info.LogEndOffset, info.Segments)
	return nil
}
