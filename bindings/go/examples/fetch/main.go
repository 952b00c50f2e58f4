// Fetch reads whole batches, as a broker sends them, then tails the log while somebody else appends to it: the directory is
// opened for reading only, so its owner may be a live broker.
//
// Usage: fetch DIR COUNT    (ends after COUNT records)
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	klog "klog/bindings/go"
)

func main() {
	count, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = run(context.Background(), os.Args[1], count)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, count int) error {
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer manager.Close()
	orders, err := manager.Log("orders", 0, nil)
	if err != nil {
		return err
	}
	if err := fetch(ctx, orders, 0); err != nil {
		return err
	}

	// A cursor gives records, each valid until the next one. With Follow it waits at the end, as long as it may; other
	// goroutines go on. What another process did Refresh takes in. In the directory's own manager, where nothing has to be
	// taken in, it is simpler: for record, err := range orders.Follow(ctx, 0).
	cursor, err := orders.Cursor(0, &klog.ReadOptions{Follow: true, MaxWait: 10 * time.Millisecond})
	if err != nil {
		return err
	}
	defer cursor.Close()
	for count > 0 {
		record, err := cursor.Next(ctx)
		if errors.Is(err, klog.ErrTimedOut) {
			err = orders.Refresh()
			if err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		fmt.Printf("%d %s=%s\n", record.Offset, record.Key, record.Value)
		count--
	}
	return nil
}

// fetch reads from an offset to the end without a copy: what a broker would write to a connection.
func fetch(ctx context.Context, orders *klog.Log, from int64) error {
	batches, bytes := 0, "no"
	for {
		fetched, err := orders.Fetch(ctx, from, nil)
		if err != nil {
			return err
		}
		for range fetched.Batches() {
			batches, bytes = batches+1, "some"
		}
		// Here: fetched.WriteTo(connection)
		from = fetched.NextOffset()
		done := fetched.Len() == 0
		fetched.Close()
		if done {
			fmt.Printf("fetched %d batches, %s bytes, up to %d\n", batches, bytes, from)
			return nil
		}
	}
}
