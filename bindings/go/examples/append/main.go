// Append adds records in the ways there are: one, many in one batch, compressed, and only if nobody else appended meanwhile.
// It prints where they went.
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
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{CreateDirs: true, NoBackground: true})
	if err != nil {
		return err
	}
	// Closing stores what is needed to open again without recovery: its error counts.
	defer func() { failed = errors.Join(failed, manager.Close()) }()
	orders, err := manager.Log("orders", 0, &klog.LogOptions{Create: true})
	if err != nil {
		return err
	}

	// The shortest way: key and value; the zero time is now. A nil key is no key, a nil value a tombstone.
	offset, err := orders.AppendOne([]byte("order-1"), []byte("paid"), time.Time{})
	if err != nil {
		return err
	}
	fmt.Printf("one record at %d\n", offset)

	// Many records become one batch: all of them are appended, or none. A Batch that is used again needs no new memory;
	// Append takes a slice of records.
	var batch klog.Batch
	for n := range 3 {
		batch.Add(&klog.Record{
			Key: fmt.Appendf(nil, "order-%d", 2+n), Value: []byte("new"),
			Headers: []klog.Header{{Key: "source", Value: []byte("sample")}},
		})
	}
	zstd := klog.AppendOptions{Compression: klog.CompressionZstd}
	result, err := orders.AppendBatch(&batch, &zstd)
	if err != nil {
		return err
	}
	fmt.Printf("%d records at %d..%d\n", result.Records, result.FirstOffset, result.LastOffset)

	// Compare and append: refused if the log does not end where we think it does, and nothing changes.
	zstd.ExpectedLogEnd = &result.LastOffset
	again := []klog.Record{{Key: []byte("order-2"), Value: []byte("new")}}
	_, err = orders.Append(again, &zstd)
	var mismatch *klog.Error
	if !errors.As(err, &mismatch) || mismatch.Status != klog.ErrLogEndMismatch {
		return fmt.Errorf("appended, or failed otherwise: %w", err)
	}
	fmt.Printf("not appended: the log ends at %d\n", mismatch.Offset)
	zstd.ExpectedLogEnd = &mismatch.Offset
	last, err := orders.Append(again, &zstd)
	if err != nil {
		return err
	}
	fmt.Printf("appended at %d\n", last.FirstOffset)

	return orders.Flush(-1) // from here on a power cut takes none of them
}
