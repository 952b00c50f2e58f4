package klog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	klog "klog/bindings/go"
)

func TestRecordsComeBackAsTheyWereAppended(t *testing.T) {
	log := created(t, nil)
	long := bytes.Repeat([]byte("long"), 200_000)
	given := []klog.Record{
		record("k", "v"),
		{Key: nil, Value: []byte{}, Timestamp: time.UnixMilli(5)},
		{Key: []byte{}, Value: nil, Timestamp: klog.NoTimestamp},
		{Key: []byte("h"), Value: []byte("v"), Timestamp: time.UnixMilli(7), Headers: []klog.Header{
			{Key: "a", Value: []byte("1")}, {Key: "", Value: nil}, {Key: "a", Value: []byte{}},
		}},
		{Key: []byte("long"), Value: long, Timestamp: time.UnixMilli(8)},
	}
	codecs := []klog.Compression{klog.CompressionNone, klog.CompressionGzip, klog.CompressionSnappy, klog.CompressionLZ4, klog.CompressionZstd}
	for _, codec := range codecs {
		result := must[klog.AppendResult](t)(log.Append(given, &klog.AppendOptions{Compression: codec}))
		if result.Records != 5 || result.LastOffset != result.FirstOffset+4 || result.MaxTimestamp.UnixMilli() != t0 {
			t.Errorf("%s: %+v", codec, result)
		}
	}
	var got []klog.Record
	for r, err := range log.Records(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Clone())
	}
	if len(got) != len(given)*len(codecs) {
		t.Fatal(len(got))
	}
	for i, r := range got {
		if wanted := given[i%len(given)]; int(r.Offset) != i || line(&klog.Record{
			Offset: r.Offset, Timestamp: wanted.Timestamp, Key: wanted.Key, Value: wanted.Value, Headers: wanted.Headers,
		}) != line(&r) || len(r.Headers) != len(wanted.Headers) {
			t.Errorf("%d: %s", i, line(&r))
		}
	}
}

func TestARecordWithoutATimeGetsThatOfTheAppend(t *testing.T) {
	now := time.UnixMilli(t0 + 77)
	log := logOf(t, opened(t, &klog.Options{Clock: now}), nil)
	must[klog.AppendResult](t)(log.Append([]klog.Record{{Value: []byte("v")}}, nil))
	must[int64](t)(log.AppendOne([]byte("k"), nil, time.Time{}))
	for r, err := range log.Records(ctx, 0) {
		if err != nil || !r.Timestamp.Equal(now) {
			t.Errorf("%v %v", r.Timestamp, err)
		}
	}
}

func TestACursorGoesOnWhenThereIsMore(t *testing.T) {
	log := created(t, nil)
	cursor := must[*klog.Cursor](t)(log.Cursor(0, &klog.ReadOptions{MaxRecords: 3}))
	defer cursor.Close()
	for round := range 5 {
		if _, err := cursor.Next(ctx); err != io.EOF {
			t.Fatal(err)
		}
		must[klog.AppendResult](t)(log.Append(make([]klog.Record, 10), nil))
		for i := range 10 {
			if cursor.Offset() != int64(round*10+i) {
				t.Error(cursor.Offset())
			}
			if r := must[*klog.Record](t)(cursor.Next(ctx)); r.Offset != int64(round*10+i) {
				t.Error(r.Offset)
			}
		}
	}
	if err := cursor.SeekTo(25); err != nil {
		t.Fatal(err)
	}
	if r := must[*klog.Record](t)(cursor.Next(ctx)); r.Offset != 25 || cursor.Offset() != 26 {
		t.Error(r.Offset)
	}
	cursor.SeekTo(1000)
	if _, err := cursor.Next(ctx); !errors.Is(err, klog.ErrOffsetOutOfRange) {
		t.Error(err)
	}
}

func TestACursorTellsOfBatches(t *testing.T) {
	log := created(t, nil)
	for i := range 30 {
		opts := klog.AppendOptions{Compression: klog.Compression(i % 6)}
		if i == 7 {
			opts.Producer = &klog.Producer{ID: 5, Epoch: 2, BaseSequence: 0}
		}
		records := make([]klog.Record, 1+i%4)
		for n := range records {
			records[n] = klog.Record{Value: make([]byte, 30000), Timestamp: time.UnixMilli(int64(1000*i + n))}
		}
		must[klog.AppendResult](t)(log.Append(records, &opts))
	}
	cursor := must[*klog.Cursor](t)(log.Cursor(0, &klog.ReadOptions{BatchInfo: true, MaxRecords: 3}))
	defer cursor.Close()
	for batch, err := range log.Batches(ctx, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for n := range batch.Records() {
			record := must[*klog.Record](t)(cursor.Next(ctx))
			info := cursor.Batch()
			if record.Offset != batch.BaseOffset()+int64(n) || info.BaseOffset != batch.BaseOffset() || info.LastOffset != batch.LastOffset() ||
				int(info.Records) != batch.Records() || int(info.Bytes) != len(batch) || info.Magic != 2 || info.LeaderEpoch != 0 ||
				info.MaxTimestamp.UnixMilli()%1000 != int64(batch.Records()-1) || (info.ProducerID == 5) != (info.ProducerEpoch == 2) ||
				info.CRC != binary.BigEndian.Uint32(batch[17:]) || info.Attributes != binary.BigEndian.Uint16(batch[21:]) {
				t.Errorf("%d: %+v", record.Offset, info)
			}
		}
	}
	if _, err := cursor.Next(ctx); err != io.EOF {
		t.Error(err)
	}
	if _, err := log.ReadRaw(ctx, 0, make([]byte, 100), &klog.ReadOptions{BatchInfo: true}); !errors.Is(err, klog.ErrInvalidArgument) {
		t.Error(err)
	}
}

// A damaged batch is told once, and the records around it are given.
func TestADamagedBatchIsToldAndPassed(t *testing.T) {
	dir := t.TempDir()
	manager := must[*klog.Manager](t)(klog.Open(ctx, []string{dir}, nil))
	log := logOf(t, manager, nil)
	for i := range 3 {
		must[klog.AppendResult](t)(log.Append([]klog.Record{record("k", fmt.Sprint("value ", i))}, nil))
	}
	path := filepath.Join(dir, "orders-0", fmt.Sprintf("%020d.log", 0))
	file := must[[]byte](t)(os.ReadFile(path))
	at := bytes.Index(file, []byte("value 1"))
	damaged := must[*os.File](t)(os.OpenFile(path, os.O_WRONLY, 0))
	must[int](t)(damaged.WriteAt([]byte("V"), int64(at)))
	damaged.Close()
	var told []string
	for r, err := range log.Records(ctx, 0) {
		if err != nil {
			if !errors.Is(err, klog.ErrCorruptMessage) {
				t.Error(err)
			}
			told = append(told, "damaged")
			continue
		}
		told = append(told, string(r.Value))
	}
	if fmt.Sprint(told) != "[value 0 damaged value 2]" {
		t.Error(told)
	}
	if err := manager.Abandon(); err != nil {
		t.Error(err)
	}
}

func TestRawBatchesGoFromOneLogToAnother(t *testing.T) {
	manager := opened(t, nil)
	log := logOf(t, manager, nil)
	for i := range 20 {
		must[klog.AppendResult](t)(log.Append(make([]klog.Record, 1+i%3), nil))
	}
	large := []klog.Record{{Value: make([]byte, 600<<10)}}
	must[klog.AppendResult](t)(log.Append(large, nil))
	follower := must[*klog.Log](t)(manager.Log("copy", 0, &klog.LogOptions{Create: true}))
	n := 0
	for batch, err := range log.Batches(ctx, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		r := must[klog.AppendResult](t)(follower.AppendRaw(batch, &klog.AppendOptions{Origin: klog.Replication}))
		if r.LastOffset != batch.LastOffset() || batch.Magic() != 2 || int64(batch.Records()) != batch.LastOffset()-batch.BaseOffset()+1 {
			t.Errorf("%+v", r)
		}
		n++
	}
	if end := must[int64](t)(follower.EndOffset()); n != 21 || end != must[int64](t)(log.EndOffset()) {
		t.Error(n, end)
	}
	small := make([]byte, 10)
	r, err := log.ReadRaw(ctx, 0, small, nil)
	if !errors.Is(err, klog.ErrBufferTooSmall) || r.BytesNeeded != 68 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestAppendOptionsHold(t *testing.T) {
	log := created(t, nil)
	one := []klog.Record{record("k", "v")}
	end := int64(0)
	must[klog.AppendResult](t)(log.Append(one, &klog.AppendOptions{ExpectedLogEnd: &end, Durability: klog.Fsync}))
	if _, err := log.Append(one, &klog.AppendOptions{ExpectedLogEnd: &end}); !errors.Is(err, klog.ErrLogEndMismatch) {
		t.Error(err)
	}
	if info := must[klog.LogInfo](t)(log.Info()); info.RecoveryPoint != 1 {
		t.Errorf("%+v", info)
	}
	epoch := int32(5)
	must[klog.AppendResult](t)(log.Append(one, &klog.AppendOptions{LeaderEpoch: &epoch}))
	if found, at, err := log.OffsetForEpoch(5); found != 5 || at != 2 || err != nil {
		t.Error(found, at, err)
	}
	for leader, wanted := range map[int32]error{4: klog.ErrFencedLeaderEpoch, 5: nil, 6: klog.ErrUnknownLeaderEpoch} {
		_, err := log.ReadRaw(t.Context(), 0, make([]byte, 1000), &klog.ReadOptions{LeaderEpoch: &leader})
		if (wanted == nil && err != nil) || !errors.Is(err, wanted) {
			t.Error(leader, err)
		}
	}
	epoch = 4
	if _, err := log.Append(one, &klog.AppendOptions{LeaderEpoch: &epoch}); !errors.Is(err, klog.ErrFencedLeaderEpoch) {
		t.Error(err)
	}
	producer := &klog.Producer{ID: 9, Epoch: 1, Transactional: true}
	r := must[klog.AppendResult](t)(log.Append(one, &klog.AppendOptions{Producer: producer}))
	again := must[klog.AppendResult](t)(log.Append(one, &klog.AppendOptions{Producer: producer}))
	if again.FirstOffset != r.FirstOffset {
		t.Errorf("%+v", again)
	}
	must[klog.AppendResult](t)(log.EndTransaction(9, 1, false, 0))
	aborted := must[[]klog.AbortedTransaction](t)(log.AbortedTransactions(0, 100))
	if len(aborted) != 1 || aborted[0].ProducerID != 9 || aborted[0].FirstOffset != r.FirstOffset {
		t.Errorf("%+v", aborted)
	}
	if told := must[string](t)(log.Producers()); !bytes.HasPrefix([]byte(told), []byte("producer 9 epoch=1 ")) {
		t.Error(told)
	}
	count := func(opts *klog.ReadOptions) (n int) {
		cursor := must[*klog.Cursor](t)(log.Cursor(0, opts))
		defer cursor.Close()
		for _, err := range cursor.All(ctx) {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		return n
	}
	if all, committed, control := count(nil), count(&klog.ReadOptions{Isolation: klog.Committed}),
		count(&klog.ReadOptions{Control: true}); all != 3 || committed != 2 || control != 4 {
		t.Error(all, committed, control)
	}
	empty := must[klog.AppendResult](t)(log.Append(nil, nil))
	if empty.FirstOffset != -1 || empty.LastOffset != -1 {
		t.Errorf("%+v", empty)
	}
}

func TestReusedBuffersTakeNoMemoryForARecord(t *testing.T) {
	if sanitized {
		t.Skip("under the address sanitizer")
	}
	log := created(t, nil)
	var batch klog.Batch
	r := record("key", "value")
	r.Headers = []klog.Header{{Key: "source", Value: []byte("test")}}
	fill := func() {
		batch.Reset()
		for range 1000 {
			batch.Add(&r)
		}
	}
	fill()
	if n := testing.AllocsPerRun(100, func() {
		fill()
		must[klog.AppendResult](t)(log.AppendBatch(&batch, nil))
	}); n > 2 {
		t.Errorf("%v allocations for an append of 1000 records", n)
	}
	if n := testing.AllocsPerRun(100, func() { must[int64](t)(log.AppendOne(r.Key, r.Value, r.Timestamp)) }); n > 0 {
		t.Errorf("%v allocations for an append of one record", n)
	}
	if n := testing.AllocsPerRun(100, func() { must[int64](t)(log.EndOffset()) }); n > 0 {
		t.Errorf("%v allocations for an end offset", n)
	}
	buf := make([]byte, 64<<10)
	if n := testing.AllocsPerRun(100, func() { must[klog.ReadResult](t)(log.ReadRaw(ctx, 0, buf, nil)) }); n > 0 {
		t.Errorf("%v allocations for a read", n)
	}
	cursor := must[*klog.Cursor](t)(log.Cursor(0, nil))
	defer cursor.Close()
	scan := func() (n int) {
		cursor.SeekTo(0)
		for {
			_, err := cursor.Next(ctx)
			if err == io.EOF {
				return n
			}
			must[int](t)(0, err)
			n++
		}
	}
	records := scan()
	if n := testing.AllocsPerRun(3, func() { scan() }); n > 0 {
		t.Errorf("%v allocations for a scan of %d records", n, records)
	}
}
