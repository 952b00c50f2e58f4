package klog

import (
	"bytes"
	"time"
)

// Record is a record. A nil Key is no key, and a nil Value a tombstone; slices of no bytes that are not nil are empty.
type Record struct {
	// Offset is its place in the log. Appends assign it.
	Offset int64
	// Timestamp is its time, in milliseconds. Appends take the time it is for the zero Time. NoTimestamp is none.
	Timestamp time.Time
	Key       []byte
	Value     []byte
	Headers   []Header
	// LeaderEpoch is that of its batch, -1 for none. Appends ignore it.
	LeaderEpoch int32
	// Sequence is its producer's number of it, -1 for none. Appends ignore it.
	Sequence int32
	// Attrs are set by reads.
	Attrs Attrs
}

// Header is a header of a record. A nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// Attrs are what a record has from its batch.
type Attrs uint8

const (
	// Control: a record that ends a transaction, or Kafka's own. Reads leave it out unless ReadOptions.Control.
	Control Attrs = 1 << 2
	// Transactional: belongs to a transaction.
	Transactional Attrs = 1 << 3
	// AppendTime: its timestamp is the time of the append.
	AppendTime Attrs = 1 << 4
)

// NoTimestamp is the timestamp of a record that has none.
var NoTimestamp = time.UnixMilli(-1)

// Clone gives a record that shares no memory with this one. Records that were read point into a buffer that is used again.
func (r *Record) Clone() Record {
	clone := *r
	clone.Key, clone.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	if r.Headers != nil {
		clone.Headers = make([]Header, len(r.Headers))
		for i, header := range r.Headers {
			clone.Headers[i] = Header{header.Key, bytes.Clone(header.Value)}
		}
	}
	return clone
}
