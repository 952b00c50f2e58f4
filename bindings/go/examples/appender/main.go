// Appender: four goroutines append small records through one appender, which makes few batches of them, while this one follows
// the log until it is told to stop.
//
// Usage: appender DIR
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"

	klog "klog/bindings/go"
)

const goroutines, records = 4, 250

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) (failed error) {
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{CreateDirs: true, NoBackground: true})
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, manager.Close()) }()
	measures, err := manager.Log("measures", 0, &klog.LogOptions{Create: true})
	if err != nil {
		return err
	}
	appender, err := measures.Appender(nil)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, appender.Close()) }()

	var all sync.WaitGroup
	failures := make([]error, goroutines)
	for g := range goroutines {
		all.Add(1)
		go func() {
			defer all.Done()
			failures[g] = add(ctx, appender)
		}()
	}
	// The goroutine that waits in Follow holds no thread. Cancelling ends what carries the context, and nothing else.
	following, stop := context.WithCancel(ctx)
	defer stop()
	followed := 0
	for _, err := range measures.Follow(following, 0) {
		switch {
		case errors.Is(err, klog.ErrCancelled):
			fmt.Println("then: KLOG_ERR_CANCELLED")
		case err != nil:
			return err
		default:
			if followed++; followed == goroutines*records {
				fmt.Printf("followed %d records\n", followed)
				stop()
			}
		}
	}
	all.Wait()
	return errors.Join(failures...)
}

func add(ctx context.Context, appender *klog.Appender) error {
	var last klog.Ticket
	for range records {
		ticket, err := appender.Add(ctx, klog.Record{Value: []byte("measured")})
		if err != nil {
			return err
		}
		last = ticket
	}
	// Who waits appends for all. What was added before is in the log before it.
	_, err := last.Wait(ctx)
	return err
}
