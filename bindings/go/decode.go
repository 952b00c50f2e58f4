//go:build cgo

package klog

import (
	"encoding/binary"
	"fmt"
	"time"
)

// decoder goes through a packed buffer. Nothing in it is believed before the bytes are there.
type decoder struct {
	rest  []byte
	left  uint32 // entries
	total int
	// The batch of the record, where the buffer tells of batches.
	batch BatchInfo
	// Names of headers that were seen: there are few, and each becomes a string once.
	names map[string]string
}

// namesKept bounds the names that are kept.
const namesKept = 256

// begin takes a buffer, and reads its head.
func (d *decoder) begin(buf []byte) error {
	d.left, d.total = 0, len(buf)
	if len(buf) < packedHead || binary.LittleEndian.Uint32(buf) != packedMagic || binary.LittleEndian.Uint16(buf[4:]) != 1 {
		return malformed(0, "it is no packed buffer of version 1")
	}
	head := int(binary.LittleEndian.Uint16(buf[6:]))
	total := binary.LittleEndian.Uint64(buf[24:])
	if head < packedHead || uint64(head) > total || total > uint64(len(buf)) {
		return malformed(24, "its head does not fit it")
	}
	d.rest = buf[head:total]
	d.left = binary.LittleEndian.Uint32(buf[8:])
	return nil
}

// next reads the next record into r, whose slices then point into the buffer. There must be entries left.
func (d *decoder) next(r *Record) error {
	for {
		at := d.total - len(d.rest)
		if len(d.rest) < entryHead {
			d.left = 0
			return malformed(at, "an entry is cut off")
		}
		head := d.rest[:entryHead]
		size := uint64(binary.LittleEndian.Uint32(head))
		if size < entryHead || size > uint64(len(d.rest)) {
			d.left = 0
			return malformed(at, "an entry leaves the buffer")
		}
		entry := d.rest[:size]
		d.rest = d.rest[size:]
		d.left--
		if head[4] != kindRecord {
			if head[4] == kindBatch && size >= batchEntry {
				d.batch.read(entry)
			}
			if d.left == 0 {
				return malformed(at, "it ends with an entry of unknown kind")
			}
			continue
		}
		keyLen := uint64(binary.LittleEndian.Uint32(head[24:]))
		valueLen := uint64(binary.LittleEndian.Uint32(head[28:]))
		headerLen := uint64(binary.LittleEndian.Uint32(head[32:]))
		if entryHead+keyLen+valueLen+headerLen > size {
			d.left = 0
			return malformed(at, "a field leaves its entry")
		}
		r.Offset = int64(binary.LittleEndian.Uint64(head[8:]))
		r.Timestamp = time.UnixMilli(int64(binary.LittleEndian.Uint64(head[16:])))
		r.LeaderEpoch = int32(binary.LittleEndian.Uint32(head[40:]))
		r.Sequence = int32(binary.LittleEndian.Uint32(head[44:]))
		r.Attrs = Attrs(head[5]) &^ (hasKey | hasValue)
		value := entryHead + keyLen
		headers := value + valueLen
		r.Key, r.Value = nil, nil
		if head[5]&hasKey != 0 {
			r.Key = entry[entryHead:value:value]
		}
		if head[5]&hasValue != 0 {
			r.Value = entry[value:headers:headers]
		}
		r.Headers = r.Headers[:0]
		if headerLen == 0 {
			return nil
		}
		if !d.headers(r, entry[headers:headers+headerLen], binary.LittleEndian.Uint32(head[36:])) {
			d.left = 0
			return malformed(at, "a header leaves its entry")
		}
		return nil
	}
}

// BatchInfo is the head of a batch as it is stored, of which a Cursor tells with ReadOptions.BatchInfo.
type BatchInfo struct {
	BaseOffset, LastOffset int64
	MaxTimestamp           time.Time
	Bytes                  uint32
	Records                uint32 // 0 in formats 0 and 1
	Attributes             uint16 // Kafka's bits
	LeaderEpoch            int32
	ProducerID             int64 // -1 for none
	ProducerEpoch          int16
	BaseSequence           int32
	Magic                  int16
	CRC                    uint32
}

// read takes an entry that tells of a batch.
func (b *BatchInfo) read(entry []byte) {
	le := binary.LittleEndian
	*b = BatchInfo{
		BaseOffset: int64(le.Uint64(entry[8:])), LastOffset: int64(le.Uint64(entry[64:])),
		MaxTimestamp: time.UnixMilli(int64(le.Uint64(entry[16:]))),
		Bytes:        le.Uint32(entry[24:]), Records: le.Uint32(entry[28:]), Attributes: uint16(le.Uint32(entry[36:])),
		LeaderEpoch: int32(le.Uint32(entry[40:])), BaseSequence: int32(le.Uint32(entry[44:])),
		ProducerID: int64(le.Uint64(entry[48:])), ProducerEpoch: int16(le.Uint16(entry[56:])),
		Magic: int16(le.Uint16(entry[58:])), CRC: le.Uint32(entry[60:]),
	}
}

func (d *decoder) headers(r *Record, area []byte, count uint32) bool {
	for ; count > 0; count-- {
		if len(area) < 8 {
			return false
		}
		keyLen := uint64(binary.LittleEndian.Uint32(area))
		valueLen := uint64(binary.LittleEndian.Uint32(area[4:]))
		area = area[8:]
		if keyLen > uint64(len(area)) {
			return false
		}
		header := Header{Key: d.name(area[:keyLen])}
		area = area[keyLen:]
		if valueLen != nullHeaderValue {
			if valueLen > uint64(len(area)) {
				return false
			}
			header.Value = area[:valueLen:valueLen]
			area = area[valueLen:]
		}
		r.Headers = append(r.Headers, header)
	}
	return len(area) == 0
}

// name is a header's name as a string.
func (d *decoder) name(bytes []byte) string {
	if name, is := d.names[string(bytes)]; is {
		return name
	}
	if d.names == nil || len(d.names) >= namesKept {
		d.names = make(map[string]string)
	}
	name := string(bytes)
	d.names[name] = name
	return name
}

// malformed is the error for a packed buffer that breaks its rules.
func malformed(at int, what string) error {
	return &Error{
		Status: ErrInvalidArgument, Partition: -1, Offset: -1, Position: int64(at), RecordIndex: -1,
		Msg: fmt.Sprintf("the packed buffer is damaged at %d: %s", at, what),
	}
}
