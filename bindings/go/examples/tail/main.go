// Tail follows a log that another goroutine appends to, and one that another manager owns, as a look at a live broker's
// directory would.
//
// Usage: tail DIR
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	klog "klog/bindings/go"
)

const records = 5

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) (failed error) {
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{CreateDirs: true})
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, manager.Close()) }()
	events, err := manager.Log("events", 0, &klog.LogOptions{Create: true})
	if err != nil {
		return err
	}
	appended := make(chan error, 1)
	go func() { appended <- appendSlowly(events) }()

	fmt.Println("its owner:")
	if err := follow(ctx, events, func() error { return nil }); err != nil {
		return err
	}
	if err := <-appended; err != nil {
		return err
	}

	// Another process's directory is opened for looking only; Refresh takes in what its owner did.
	looking, err := klog.Open(ctx, []string{dir}, &klog.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer looking.Close()
	seen, err := looking.Log("events", 0, nil)
	if err != nil {
		return err
	}
	fmt.Println("a reader beside it:")
	return follow(ctx, seen, seen.Refresh)
}

func appendSlowly(events *klog.Log) error {
	for i := range records {
		time.Sleep(2 * time.Millisecond)
		if _, err := events.AppendOne(nil, fmt.Appendf(nil, "event %d", i), time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// follow prints records as they come. At the log end the cursor says io.EOF, and gives more when there is more.
func follow(ctx context.Context, from *klog.Log, refresh func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cursor, err := from.Cursor(0, nil)
	if err != nil {
		return err
	}
	defer cursor.Close()
	for cursor.Offset() < records {
		record, err := cursor.Next(ctx)
		switch {
		case err == nil:
			fmt.Printf("%d %s\n", record.Offset, record.Value)
		case errors.Is(err, io.EOF):
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
			if err := refresh(); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}
