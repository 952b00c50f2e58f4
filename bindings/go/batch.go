package klog

import (
	"encoding/binary"
	"math"
	"time"
)

// The packed buffer of docs/format.md: how records cross to the library many at a time.
const (
	packedMagic     = 0x3152504B
	packedHead      = 32
	entryHead       = 48
	kindRecord      = 1
	kindBatch       = 2
	batchEntry      = 72
	hasKey          = 1 << 0
	hasValue        = 1 << 1
	nullHeaderValue = math.MaxUint32
)

// Batch collects records to be appended as one batch. It can be used again after Reset, and then needs no new memory. The
// zero value is an empty batch. It is for one goroutine at a time.
type Batch struct {
	buf   []byte
	count uint32
}

// Add adds a record. Its bytes are copied.
func (b *Batch) Add(r *Record) {
	headers := 0
	for i := range r.Headers {
		headers += 8 + len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	to := b.entry(r.Key, r.Value, r.Timestamp, headers, len(r.Headers))
	for i := range r.Headers {
		header := &r.Headers[i]
		value := uint32(nullHeaderValue)
		if header.Value != nil {
			value = uint32(len(header.Value))
		}
		binary.LittleEndian.PutUint32(to, uint32(len(header.Key)))
		binary.LittleEndian.PutUint32(to[4:], value)
		to = to[8:]
		to = to[copy(to, header.Key):]
		to = to[copy(to, header.Value):]
	}
}

// AddKeyValue adds a record without headers.
func (b *Batch) AddKeyValue(key, value []byte, timestamp time.Time) {
	b.entry(key, value, timestamp, 0, 0)
}

// entry writes all of an entry but its headers, and gives the room for those.
func (b *Batch) entry(key, value []byte, timestamp time.Time, headerBytes, headers int) []byte {
	if b.buf == nil {
		b.buf = make([]byte, packedHead, 4096)
	}
	size := entryHead + len(key) + len(value) + headerBytes
	padded := (size + 7) &^ 7
	begin := len(b.buf)
	b.grow(padded)
	to := b.buf[begin : begin+padded]
	var has byte
	if key != nil {
		has |= hasKey
	}
	if value != nil {
		has |= hasValue
	}
	ms := int64(math.MinInt64) // the time of the append
	if !timestamp.IsZero() {
		ms = timestamp.UnixMilli()
	}
	head := to[:entryHead]
	binary.LittleEndian.PutUint32(head, uint32(padded))
	binary.LittleEndian.PutUint32(head[4:], kindRecord|uint32(has)<<8)
	binary.LittleEndian.PutUint64(head[8:], math.MaxUint64)
	binary.LittleEndian.PutUint64(head[16:], uint64(ms))
	binary.LittleEndian.PutUint32(head[24:], uint32(len(key)))
	binary.LittleEndian.PutUint32(head[28:], uint32(len(value)))
	binary.LittleEndian.PutUint32(head[32:], uint32(headerBytes))
	binary.LittleEndian.PutUint32(head[36:], uint32(headers))
	binary.LittleEndian.PutUint64(head[40:], math.MaxUint32<<32)
	copy(to[entryHead:], key)
	copy(to[entryHead+len(key):], value)
	clear(to[size:])
	b.count++
	return to[entryHead+len(key)+len(value) : size]
}

// grow makes room for so many more bytes, which are not cleared.
func (b *Batch) grow(by int) {
	need := len(b.buf) + by
	if need > cap(b.buf) {
		larger := make([]byte, len(b.buf), max(need, 2*cap(b.buf)))
		copy(larger, b.buf)
		b.buf = larger
	}
	b.buf = b.buf[:need]
}

// Len is how many records are in the batch.
func (b *Batch) Len() int { return int(b.count) }

// Size is how many bytes the batch takes in memory; in the log it takes less.
func (b *Batch) Size() int { return max(len(b.buf), packedHead) }

// Reset empties the batch, and keeps its memory.
func (b *Batch) Reset() {
	if b.buf != nil {
		b.buf = b.buf[:packedHead]
	}
	b.count = 0
}

// packed is the whole buffer, with its head written.
func (b *Batch) packed() []byte {
	if b.buf == nil {
		b.buf = make([]byte, packedHead, 4096)
	}
	head := b.buf[:packedHead]
	clear(head)
	binary.LittleEndian.PutUint32(head, packedMagic)
	binary.LittleEndian.PutUint16(head[4:], 1)
	binary.LittleEndian.PutUint16(head[6:], packedHead)
	binary.LittleEndian.PutUint32(head[8:], b.count)
	binary.LittleEndian.PutUint64(head[16:], math.MaxUint64)
	binary.LittleEndian.PutUint64(head[24:], uint64(len(b.buf)))
	return b.buf
}
