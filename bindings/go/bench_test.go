package klog_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	klog "klog/bindings/go"
)

// What crossing to C costs, to see the others beside it.
func BenchmarkEmptyCall(b *testing.B) {
	for b.Loop() {
		klog.EmptyCall()
	}
}

func BenchmarkEndOffset(b *testing.B) {
	log := created(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		log.EndOffset()
	}
}

func BenchmarkAppendOne(b *testing.B) {
	log := created(b, nil)
	key, value, now := make([]byte, 12), make([]byte, 100), time.UnixMilli(t0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := log.AppendOne(key, value, now); err != nil {
			b.Fatal(err)
		}
	}
}

const benched = 1000

// Records of 12 bytes of key and 100 of value, 1,000 in a batch.
func BenchmarkAppend1000(b *testing.B) {
	log := created(b, nil)
	var batch klog.Batch
	key, value, now := make([]byte, 12), make([]byte, 100), time.UnixMilli(t0)
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset()
		for range benched {
			batch.AddKeyValue(key, value, now)
		}
		if _, err := log.AppendBatch(&batch, nil); err != nil {
			b.Fatal(err)
		}
	}
	perRecord(b, benched)
}

func BenchmarkAppend100(b *testing.B) {
	log := created(b, nil)
	var batch klog.Batch
	for range 100 {
		batch.AddKeyValue(make([]byte, 12), make([]byte, 100), time.UnixMilli(t0))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := log.AppendBatch(&batch, nil); err != nil {
			b.Fatal(err)
		}
	}
	perRecord(b, 100)
}

// From an append until the goroutine that waits for it goes on.
func BenchmarkWait(b *testing.B) {
	log := created(b, nil)
	woken := make(chan int64)
	go func() {
		for next := int64(0); ; {
			end, err := log.Wait(ctx, klog.WaitLogEnd, next)
			if err != nil {
				close(woken)
				return
			}
			woken <- end
			next = end
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := log.AppendOne(nil, []byte("v"), time.Time{}); err != nil {
			b.Fatal(err)
		}
		<-woken
	}
}

// The same from a slice of records, which are packed on the way.
func BenchmarkAppendSlice1000(b *testing.B) {
	log := created(b, nil)
	records := make([]klog.Record, benched)
	for i := range records {
		records[i] = klog.Record{Key: make([]byte, 12), Value: make([]byte, 100), Timestamp: time.UnixMilli(t0)}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := log.Append(records, nil); err != nil {
			b.Fatal(err)
		}
	}
	perRecord(b, benched)
}

// The same from C, each record given as a struct.
func BenchmarkAppendInLibrary1000(b *testing.B) {
	log := created(b, nil)
	key, value, now := make([]byte, 12), make([]byte, 100), time.UnixMilli(t0)
	for b.Loop() {
		if status := klog.LibraryAppend(log, key, value, now, benched); status != 0 {
			b.Fatal(status)
		}
	}
	perRecord(b, benched)
}

// The part of an append that is Go's.
func BenchmarkPack1000(b *testing.B) {
	var batch klog.Batch
	key, value, now := make([]byte, 12), make([]byte, 100), time.UnixMilli(t0)
	b.ReportAllocs()
	for b.Loop() {
		batch.Reset()
		for range benched {
			batch.AddKeyValue(key, value, now)
		}
	}
	perRecord(b, benched)
}

func filled(b *testing.B) (*klog.Log, int) {
	log := created(b, nil)
	var batch klog.Batch
	for range benched {
		batch.AddKeyValue(make([]byte, 12), make([]byte, 100), time.UnixMilli(t0))
	}
	const batches = 100
	for range batches {
		must[klog.AppendResult](b)(log.AppendBatch(&batch, nil))
	}
	return log, batches * benched
}

func BenchmarkScanCursor(b *testing.B) {
	log, records := filled(b)
	cursor := must[*klog.Cursor](b)(log.Cursor(0, nil))
	defer cursor.Close()
	b.ReportAllocs()
	for b.Loop() {
		cursor.SeekTo(0)
		for {
			if _, err := cursor.Next(ctx); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	perRecord(b, records)
}

func BenchmarkScanBuffers(b *testing.B) {
	for _, kib := range []uint64{64, 1024} {
		b.Run(fmt.Sprint(kib, "KiB"), func(b *testing.B) {
			log, records := filled(b)
			cursor := must[*klog.Cursor](b)(log.Cursor(0, &klog.ReadOptions{MaxBytes: kib << 10}))
			defer cursor.Close()
			for b.Loop() {
				cursor.SeekTo(0)
				for range records {
					if _, err := cursor.Next(ctx); err != nil {
						b.Fatal(err)
					}
				}
			}
			perRecord(b, records)
		})
	}
}

func BenchmarkScanRecords(b *testing.B) {
	log, records := filled(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range log.Records(ctx, 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	perRecord(b, records)
}

// The same from C.
func BenchmarkScanInLibrary(b *testing.B) {
	log, records := filled(b)
	b.ReportAllocs()
	for b.Loop() {
		if klog.LibraryScan(log) != records {
			b.Fatal("records are missing")
		}
	}
	perRecord(b, records)
}

// Go's share, as a factor: the same work from C and from Go in turns, and of both the fastest time, which others on the
// machine do not touch. What is promised is held, with a library that is optimised.
func BenchmarkBesideC(b *testing.B) {
	const appendAtMost, scanAtMost = 2.0, 1.5
	log, records := filled(b)
	scratch := created(b, nil)
	cursor := must[*klog.Cursor](b)(log.Cursor(0, nil))
	defer cursor.Close()
	var batch klog.Batch
	key, value, now := make([]byte, 12), make([]byte, 100), time.UnixMilli(t0)
	scanC, scanGo, appendC, appendGo := newFastest(), newFastest(), newFastest(), newFastest()
	for b.Loop() {
		scanC.time(func() { klog.LibraryScan(log) })
		scanGo.time(func() {
			cursor.SeekTo(0)
			for n := range records + 1 {
				if _, err := cursor.Next(ctx); (err == io.EOF) != (n == records) {
					b.Fatal(n, err)
				}
			}
		})
		for range 20 {
			appendC.time(func() { klog.LibraryAppend(scratch, key, value, now, benched) })
			appendGo.time(func() {
				batch.Reset()
				for range benched {
					batch.AddKeyValue(key, value, now)
				}
				if _, err := scratch.AppendBatch(&batch, nil); err != nil {
					b.Fatal(err)
				}
			})
		}
		scratch.TruncateFully(0, 0)
	}
	scan, append := scanGo.over(scanC), appendGo.over(appendC)
	b.ReportMetric(scan, "scan-factor")
	b.ReportMetric(append, "append-factor")
	b.ReportMetric(0, "ns/op")
	// For `make bench`, by record.
	b.ReportMetric(scanC.each(records), "scan-c-ns")
	b.ReportMetric(scanGo.each(records), "scan-go-ns")
	b.ReportMetric(appendC.each(benched), "append-c-ns")
	b.ReportMetric(appendGo.each(benched), "append-go-ns")
	if b.N >= 30 && (scan > scanAtMost || append > appendAtMost) {
		b.Errorf("a scan costs %.2f of C's, an append %.2f; at most %.1f and %.1f are promised", scan, append, scanAtMost, appendAtMost)
	}
}

// fastest is the shortest time that something took.
type fastest struct{ took time.Duration }

func newFastest() *fastest { return &fastest{time.Hour} }

func (f *fastest) time(work func()) {
	begun := time.Now()
	work()
	f.took = min(f.took, time.Since(begun))
}

func (f *fastest) each(records int) float64 { return float64(f.took.Nanoseconds()) / float64(records) }

func (f *fastest) over(other *fastest) float64 { return float64(f.took) / float64(other.took) }

func BenchmarkReadRaw(b *testing.B) {
	log, _ := filled(b)
	buf := make([]byte, 256<<10)
	b.ReportAllocs()
	for b.Loop() {
		r, err := log.ReadRaw(ctx, 0, buf, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(r.Bytes))
	}
}

func perRecord(b *testing.B, records int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/record")
}
