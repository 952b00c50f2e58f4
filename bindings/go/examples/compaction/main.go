// Compaction keeps the last value of each key: a log as a table. It tells how far it is, and can be ended by its context.
//
// Usage: compaction DIR
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
	// Without NoBackground a thread of the library compacts what is dirty enough, by itself.
	manager, err := klog.Open(ctx, []string{dir}, &klog.Options{CreateDirs: true, NoBackground: true})
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, manager.Close()) }()
	prices, err := manager.Log("prices", 0, &klog.LogOptions{Create: true, Config: klog.TopicConfig{Compact: true}.Config()})
	if err != nil {
		return err
	}
	var batch klog.Batch
	for day := range 100 {
		batch.Reset()
		for article := range 50 {
			key, value := fmt.Appendf(nil, "article-%02d", article), fmt.Appendf(nil, "%d.%02d", 10+article, day)
			batch.AddKeyValue(key, value, time.Time{})
		}
		if _, err := prices.AppendBatch(&batch, nil); err != nil {
			return err
		}
	}
	// A record without a value is a tombstone: it deletes its key, and goes itself after delete.retention.ms.
	if _, err := prices.AppendOne([]byte("article-07"), nil, time.Time{}); err != nil {
		return err
	}
	if err := tell(ctx, prices, "appended"); err != nil {
		return err
	}

	// What would go, without a change. Roll begins a new segment, since the active one is never compacted.
	counted, err := prices.Clean(ctx, &klog.CleanOptions{Roll: true, DryRun: true})
	if err != nil {
		return err
	}
	fmt.Printf("%d records would go\n", counted.RecordsRead-counted.RecordsKept)

	// A pass that takes long tells how far it is, and ends soon after its context; what it had not finished stays as it was.
	within, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	cleaned, err := prices.Clean(within, &klog.CleanOptions{
		Roll: true,
		Progress: func(p klog.CleanProgress) {
			log.Printf("%s: %d of %d bytes", p.Phase, p.BytesDone, p.BytesTotal)
		},
	})
	if err != nil {
		return err
	}
	fmt.Printf("read %d records, kept %d, superseded %d\n", cleaned.RecordsRead, cleaned.RecordsKept, cleaned.DroppedSuperseded)
	return tell(ctx, prices, "compacted")
}

// tell reads the log as a table.
func tell(ctx context.Context, log *klog.Log, what string) error {
	records := 0
	table := map[string]string{}
	for record, err := range log.Records(ctx, 0) {
		if err != nil {
			return err
		}
		records++
		if record.Value == nil {
			delete(table, string(record.Key))
		} else {
			table[string(record.Key)] = string(record.Value)
		}
	}
	fmt.Printf("%s: %d records, %d articles, article-08 costs %s\n", what, records, len(table), table["article-08"])
	return nil
}
