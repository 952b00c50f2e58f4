// Writes writes a directory with logs of every kind, for Kafka's own classes to load, and prints what they must find: a line
// "log TOPIC-PARTITION", then a line for each record, as in the texts of tests/fixtures.
//
// Usage: writes DIR SEED
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	klog "klog/bindings/go"
)

func main() {
	seed, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	w := &writer{random: rand.New(rand.NewPCG(seed, 0)), now: time.UnixMilli(1_000_000_000_000)}
	if err := w.run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

type writer struct {
	random  *rand.Rand
	now     time.Time
	manager *klog.Manager
}

func (w *writer) run(dir string) (failed error) {
	manager, err := klog.Open(context.Background(), []string{dir}, &klog.Options{
		CreateDirs: true, Clock: w.now,
		Config: klog.Config{"log.initial.task.delay.ms": "9223372036854775807"},
	})
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, manager.Close()) }()
	w.manager = manager
	return errors.Join(
		w.codecs(), w.rolled(), w.collected(), w.together(), w.transactions(), w.compacted(), w.retained(), w.cut(), w.copied(),
	)
}

// open makes a log, and tells of it.
func (w *writer) open(topic string, config klog.Config) (*klog.Log, error) {
	id := [16]byte{}
	for i := range id {
		id[i] = byte(1 + w.random.IntN(255))
	}
	return w.manager.Log(topic, 0, &klog.LogOptions{Create: true, Config: config, TopicID: &id})
}

func tell(of *klog.Log) { fmt.Println("log", of.ID()) }

// codecs: each codec, as the topic's and as the call's.
func (w *writer) codecs() error {
	codecs := []klog.Compression{klog.CompressionNone, klog.CompressionGzip, klog.CompressionSnappy, klog.CompressionLZ4, klog.CompressionZstd}
	for _, codec := range codecs {
		to, err := w.open(codec.String(), klog.TopicConfig{Compression: codec}.Config())
		if err != nil {
			return err
		}
		tell(to)
		for range 20 {
			if err := w.append(to, w.records(), nil); err != nil {
				return err
			}
		}
	}
	to, err := w.open("mixed", nil)
	if err != nil {
		return err
	}
	tell(to)
	for i := range 20 {
		if err := w.append(to, w.records(), &klog.AppendOptions{Compression: codecs[i%len(codecs)]}); err != nil {
			return err
		}
	}
	return nil
}

// rolled: many segments, with the time of the append, and leader epochs.
func (w *writer) rolled() error {
	to, err := w.open("rolled", klog.Config{
		"internal.segment.bytes": "3000", "index.interval.bytes": "200", "message.timestamp.type": "LogAppendTime",
	})
	if err != nil {
		return err
	}
	tell(to)
	for i := range 60 {
		epoch := int32(i / 7)
		records := w.records()[:1]
		w.now = w.now.Add(time.Second)
		if _, err := w.manager.Tick(w.now); err != nil {
			return err
		}
		if err := w.append(to, records, &klog.AppendOptions{LeaderEpoch: &epoch, Durability: klog.Durability(i % 2)}); err != nil {
			return err
		}
	}
	_, err = to.Roll()
	return err
}

// collected: through an appender.
func (w *writer) collected() error {
	to, err := w.open("collected", nil)
	if err != nil {
		return err
	}
	tell(to)
	appender, err := to.Appender(&klog.AppenderOptions{Append: &klog.AppendOptions{Producer: &klog.Producer{ID: 77}}})
	if err != nil {
		return err
	}
	var tickets []klog.Ticket
	var added [][]klog.Record
	for range 30 {
		records := w.records()
		ticket, err := appender.Add(context.Background(), records...)
		if err != nil {
			return err
		}
		tickets, added = append(tickets, ticket), append(added, records)
	}
	if err := appender.Flush(context.Background()); err != nil {
		return err
	}
	for i, ticket := range tickets {
		result, err := ticket.Wait(context.Background())
		if err != nil {
			return err
		}
		told(added[i], result.FirstOffset)
	}
	return appender.Close()
}

// together: to several logs at once, of one topic.
func (w *writer) together() error {
	var items []klog.AppendItem
	for partition := range int32(5) {
		to, err := w.manager.Log("together", partition, &klog.LogOptions{Create: true})
		if err != nil {
			return err
		}
		items = append(items, klog.AppendItem{Log: to, Records: w.records()})
	}
	if err := w.manager.AppendMany(items, nil); err != nil {
		return err
	}
	for _, item := range items {
		tell(item.Log)
		told(item.Records, item.FirstOffset)
	}
	return nil
}

// transactions: committed, aborted and open ones.
func (w *writer) transactions() error {
	to, err := w.open("transactions", nil)
	if err != nil {
		return err
	}
	tell(to)
	sequences := map[int64]int32{}
	for i := range int64(30) {
		id := 1 + i%4
		records := w.records()
		producer := &klog.Producer{ID: id, Epoch: 1, BaseSequence: sequences[id], Transactional: true}
		if err := w.append(to, records, &klog.AppendOptions{Producer: producer}); err != nil {
			return err
		}
		sequences[id] += int32(len(records))
		if w.random.IntN(3) == 0 {
			if _, err := to.EndTransaction(id, 1, w.random.IntN(2) == 0, 3); err != nil {
				return err
			}
		}
	}
	return nil
}

// compacted: the last record of each key is left.
func (w *writer) compacted() error {
	to, err := w.open("compacted", klog.TopicConfig{Compact: true}.Config())
	if err != nil {
		return err
	}
	tell(to)
	last := map[string]klog.Record{}
	for range 50 {
		key := fmt.Sprint("key-", w.random.IntN(10))
		record := klog.Record{Key: []byte(key), Value: fmt.Append(nil, w.random.Uint64()), Timestamp: w.now}
		result, err := to.Append([]klog.Record{record}, nil)
		if err != nil {
			return err
		}
		record.Offset = result.FirstOffset
		last[key] = record
	}
	if _, err := to.Clean(context.Background(), &klog.CleanOptions{Roll: true}); err != nil {
		return err
	}
	for offset := range int64(50) {
		for _, record := range last {
			if record.Offset == offset {
				fmt.Println(line(&record))
			}
		}
	}
	return nil
}

// retained: what is old is gone.
func (w *writer) retained() error {
	to, err := w.open("retained", klog.Config{"retention.ms": "10000", "internal.segment.bytes": "1000"})
	if err != nil {
		return err
	}
	tell(to)
	var all []klog.Record
	for i := range 20 {
		record := klog.Record{Value: make([]byte, 400), Timestamp: w.now.Add(time.Duration(i) * time.Second)}
		result, err := to.Append([]klog.Record{record}, nil)
		if err != nil {
			return err
		}
		record.Offset = result.FirstOffset
		all = append(all, record)
	}
	w.now = w.now.Add(25 * time.Second)
	if _, err := w.manager.Tick(w.now); err != nil {
		return err
	}
	retained, err := to.Retain(nil)
	if err != nil {
		return err
	}
	if retained.Segments == 0 || retained.LogStartOffset == 20 {
		return fmt.Errorf("retention took %+v", retained)
	}
	for i := range all[retained.LogStartOffset:] {
		fmt.Println(line(&all[int(retained.LogStartOffset)+i]))
	}
	return nil
}

// cut: an end that is cut off, and a start that is deleted.
func (w *writer) cut() error {
	to, err := w.open("cut", nil)
	if err != nil {
		return err
	}
	var all []klog.Record
	for i := range int64(20) {
		record := klog.Record{Offset: i, Value: fmt.Append(nil, i), Timestamp: w.now}
		if _, err := to.Append([]klog.Record{record}, nil); err != nil {
			return err
		}
		all = append(all, record)
	}
	if _, err := to.TruncateTo(15); err != nil {
		return err
	}
	if _, err := to.DeleteRecords(5); err != nil {
		return err
	}
	tell(to)
	// The segment is still there, and so are its records.
	for i := range all[:15] {
		fmt.Println(line(&all[i]))
	}
	return nil
}

// copied: ready batches, as a follower has them from its leader.
func (w *writer) copied() error {
	from, err := w.manager.Log("mixed", 0, nil)
	if err != nil {
		return err
	}
	to, err := w.open("copied", nil)
	if err != nil {
		return err
	}
	tell(to)
	for batch, err := range from.Batches(context.Background(), 0, nil) {
		if err != nil {
			return err
		}
		if _, err := to.AppendRaw(batch, &klog.AppendOptions{Origin: klog.Replication}); err != nil {
			return err
		}
	}
	var batch klog.Batch
	records := w.records()
	for i := range records {
		batch.Add(&records[i])
	}
	end, err := to.EndOffset()
	if err != nil {
		return err
	}
	epoch := int32(0)
	encoded, err := batch.Encode(nil, end, &klog.AppendOptions{Compression: klog.CompressionLZ4, LeaderEpoch: &epoch})
	if err != nil {
		return err
	}
	if _, err := to.AppendRaw(encoded, &klog.AppendOptions{Origin: klog.Replication}); err != nil {
		return err
	}
	for record, err := range from.Records(context.Background(), 0) {
		if err != nil {
			return err
		}
		fmt.Println(line(&record))
	}
	told(records, end)
	return nil
}

func (w *writer) append(to *klog.Log, records []klog.Record, opts *klog.AppendOptions) error {
	result, err := to.Append(records, opts)
	if err != nil {
		return err
	}
	if result.LogAppendTime != klog.NoTimestamp {
		for i := range records {
			records[i].Timestamp = result.LogAppendTime
		}
	}
	told(records, result.FirstOffset)
	return nil
}

func told(records []klog.Record, first int64) {
	for i := range records {
		records[i].Offset = first + int64(i)
		fmt.Println(line(&records[i]))
	}
}

// records are some, of all kinds.
func (w *writer) records() []klog.Record {
	records := make([]klog.Record, 1+w.random.IntN(5))
	for i := range records {
		r := &records[i]
		r.Key, r.Value, r.Timestamp = w.bytes(), w.bytes(), w.now.Add(time.Duration(w.random.IntN(2000)-1000)*time.Millisecond)
		for range w.random.IntN(3) {
			r.Headers = append(r.Headers, klog.Header{Key: fmt.Sprint("h", w.random.IntN(3)), Value: w.bytes()})
		}
	}
	return records
}

func (w *writer) bytes() []byte {
	if w.random.IntN(5) == 0 {
		return nil
	}
	bytes := make([]byte, []int{0, 1, 10, 64, 65, 300}[w.random.IntN(6)])
	for i := range bytes {
		bytes[i] = byte(w.random.IntN(256))
	}
	return bytes
}

func line(r *klog.Record) string {
	text := fmt.Sprintf("rec %d ts=%d key=%s value=%s", r.Offset, r.Timestamp.UnixMilli(), field(r.Key), field(r.Value))
	for i, header := range r.Headers {
		text += [...]string{" headers=", ","}[min(i, 1)] + field([]byte(header.Key)) + ":" + field(header.Value)
	}
	return text
}

func field(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) == 0:
		return "empty"
	case len(b) <= 64:
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("#%d/%08x", len(b), crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}
