// Retention deletes old segments by age, by size, and by hand. The clock is the program's own, so that hours pass at once.
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
	now := time.UnixMilli(1700000000000)
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{
		CreateDirs: true,
		Clock:      now,
		// Nothing is done by time: each step below asks for what it wants.
		Config: klog.Config{"log.initial.task.delay.ms": "9223372036854775807"},
	})
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, manager.Close()) }()
	clicks, err := manager.Log("clicks", 0, &klog.LogOptions{
		Create: true,
		Config: klog.TopicConfig{Retention: 24 * time.Hour, SegmentBytes: 1 << 20}.Config(),
	})
	if err != nil {
		return err
	}
	// A day and a half of records, a segment of 1 MiB every hour or so.
	value := make([]byte, 100<<10)
	for hour := range 36 {
		for range 10 {
			if _, err := clicks.AppendOne(nil, value, now.Add(time.Duration(hour)*time.Hour)); err != nil {
				return err
			}
		}
		if err := passTime(manager, now.Add(time.Duration(hour)*time.Hour)); err != nil {
			return err
		}
	}
	if err := tell(clicks, "appended"); err != nil {
		return err
	}

	counted, err := clicks.Retain(&klog.RetainOptions{DryRun: true})
	if err != nil {
		return err
	}
	fmt.Printf("older than a day: %d segments, %d bytes\n", counted.Segments, counted.Bytes)
	if _, err := manager.Retain(nil); err != nil {
		return err
	}
	if err := tell(clicks, "by age"); err != nil {
		return err
	}

	limit := klog.TopicConfig{Retention: -1, RetentionBytes: 5 << 20, SegmentBytes: 1 << 20}
	if err := clicks.SetConfig(limit.Config()); err != nil {
		return err
	}
	if _, err := clicks.Retain(nil); err != nil {
		return err
	}
	if err := tell(clicks, "by size"); err != nil {
		return err
	}

	end, err := clicks.EndOffset()
	if err != nil {
		return err
	}
	if _, err := clicks.DeleteRecords(end - 5); err != nil {
		return err
	}
	if _, err := clicks.Retain(nil); err != nil {
		return err
	}
	if err := tell(clicks, "by hand"); err != nil {
		return err
	}
	_, err = clicks.ReadRaw(ctx, 0, nil, nil)
	fmt.Printf("reading from the old start: %v\n", errors.Is(err, klog.ErrOffsetOutOfRange))
	return nil
}

// passTime moves the manager's clock. A program without a clock of its own leaves Options.Clock out; then a thread of the
// library does what is due.
func passTime(manager *klog.Manager, to time.Time) error {
	_, err := manager.Tick(to)
	return err
}

func tell(log *klog.Log, what string) error {
	info, err := log.Info()
	if err != nil {
		return err
	}
	fmt.Printf("%s: offsets %d to %d in %d segments, %d bytes\n", what, info.LogStartOffset, info.LogEndOffset, info.Segments, info.Bytes)
	return nil
}
