package klog

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

func sample() *Batch {
	var batch Batch
	batch.AddKeyValue([]byte("key"), []byte("value"), time.UnixMilli(5))
	batch.AddKeyValue(nil, []byte{}, time.UnixMilli(6))
	batch.Add(&Record{Key: []byte{}, Timestamp: time.UnixMilli(7), Headers: []Header{
		{"name", []byte("text")}, {"", nil}, {"name", []byte{}},
	}})
	return &batch
}

func decodeAll(buf []byte) (records []Record, failed error) {
	var d decoder
	if failed = d.begin(buf); failed != nil {
		return nil, failed
	}
	for d.left > 0 {
		var r Record
		if failed = d.next(&r); failed != nil {
			return records, failed
		}
		records = append(records, r.Clone())
	}
	return records, nil
}

func TestWhatIsPackedIsDecoded(t *testing.T) {
	records, err := decodeAll(sample().packed())
	if err != nil || len(records) != 3 {
		t.Fatal(records, err)
	}
	if r := records[0]; string(r.Key) != "key" || string(r.Value) != "value" || r.Timestamp.UnixMilli() != 5 || r.Sequence != -1 {
		t.Errorf("%+v", r)
	}
	if r := records[1]; r.Key != nil || r.Value == nil || len(r.Value) != 0 || r.Headers != nil {
		t.Errorf("%+v", r)
	}
	r := records[2]
	if r.Key == nil || r.Value != nil || len(r.Headers) != 3 {
		t.Fatalf("%+v", r)
	}
	if r.Headers[0].Key != "name" || string(r.Headers[0].Value) != "text" || r.Headers[1].Value != nil || r.Headers[2].Value == nil {
		t.Errorf("%+v", r.Headers)
	}
}

func TestEntriesOfOtherKindsAreSkipped(t *testing.T) {
	packed := bytes.Clone(sample().packed())
	packed[packedHead+4] = 9
	records, err := decodeAll(packed)
	if err != nil || len(records) != 2 || records[0].Timestamp.UnixMilli() != 6 {
		t.Error(records, err)
	}
}

// No bytes make the decoder leave its buffer or go on for ever.
func FuzzDecoder(f *testing.F) {
	whole := sample().packed()
	f.Add(whole)
	for cut := range whole {
		f.Add(whole[:cut])
	}
	f.Fuzz(func(t *testing.T, buf []byte) {
		records, err := decodeAll(buf)
		if err == nil && len(records)*entryHead > len(buf) {
			t.Error(len(records), len(buf))
		}
	})
}

func TestBrokenBuffersAreErrors(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	whole := sample().packed()
	refused := 0
	for range 20000 {
		broken := bytes.Clone(whole)
		for range 1 + random.IntN(3) {
			broken[random.IntN(len(broken))] = byte(random.IntN(256))
		}
		if _, err := decodeAll(broken[:len(broken)-random.IntN(2)*random.IntN(len(broken))]); err != nil {
			refused++
		}
	}
	if refused < 1000 {
		t.Errorf("seed %d: %d of 20000 were refused", seed, refused)
	}
}
