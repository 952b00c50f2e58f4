// Append opens a directory, makes a log, appends records in several ways and reads them back.
//
// Usage: append DIR
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
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{CreateDirs: true})
	if err != nil {
		return err
	}
	// Closing stores what is needed to open again without recovery: its error counts.
	defer func() { failed = errors.Join(failed, manager.Close()) }()
	orders, err := manager.Log("orders", 0, &klog.LogOptions{Create: true})
	if err != nil {
		return err
	}
	begun := time.UnixMilli(1700000000000)

	// A slice of records is one batch: all of them, or none.
	result, err := orders.Append([]klog.Record{
		{Key: []byte("order-1"), Value: []byte("placed"), Timestamp: begun},
		{Key: []byte("order-1"), Value: []byte("paid"), Timestamp: begun.Add(time.Second), Headers: []klog.Header{
			{Key: "by", Value: []byte("card")},
		}},
	}, nil)
	if err != nil {
		return err
	}
	fmt.Printf("slice: offsets %d to %d, %d bytes\n", result.FirstOffset, result.LastOffset, result.Bytes)

	// A Batch that is used again takes no memory for a record.
	var batch klog.Batch
	for n := range 3 {
		batch.Reset()
		for i := range 100 {
			key := fmt.Appendf(nil, "order-%d", 2+n*100+i)
			batch.AddKeyValue(key, []byte("placed"), begun.Add(time.Minute))
		}
		result, err := orders.AppendBatch(&batch, &klog.AppendOptions{Compression: klog.CompressionZstd})
		if err != nil {
			return err
		}
		fmt.Printf("batch: offsets %d to %d\n", result.FirstOffset, result.LastOffset)
	}

	// What the disk must have before the call returns.
	end, err := orders.EndOffset()
	if err != nil {
		return err
	}
	last, err := orders.Append([]klog.Record{{Value: []byte("done"), Timestamp: begun.Add(time.Hour)}}, &klog.AppendOptions{
		Durability:     klog.Fsync,
		ExpectedLogEnd: &end,
	})
	if err != nil {
		return err
	}
	_, err = orders.Append([]klog.Record{{Value: []byte("done")}}, &klog.AppendOptions{ExpectedLogEnd: &end})
	fmt.Printf("done at %d; again: %v\n", last.FirstOffset, errors.Is(err, klog.ErrLogEndMismatch))

	for record, err := range orders.Records(ctx, 300) {
		if err != nil {
			return err
		}
		fmt.Printf("%d %s=%s\n", record.Offset, record.Key, record.Value)
	}
	found, err := orders.OffsetForTime(begun.Add(time.Minute))
	if err != nil {
		return err
	}
	fmt.Printf("a minute later: offset %d\n", found.Offset)
	return nil
}
