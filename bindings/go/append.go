package klog

// #include "shim.h"
import "C"

import (
	"math"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// Compression is a codec of batches.
type Compression int32

// The codecs. CompressionConfig, the zero value, is what the topic's compression.type says.
const (
	CompressionConfig Compression = C.KLOG_COMPRESSION_CONFIG
	CompressionNone   Compression = C.KLOG_COMPRESSION_NONE
	CompressionGzip   Compression = C.KLOG_COMPRESSION_GZIP
	CompressionSnappy Compression = C.KLOG_COMPRESSION_SNAPPY
	CompressionLZ4    Compression = C.KLOG_COMPRESSION_LZ4
	CompressionZstd   Compression = C.KLOG_COMPRESSION_ZSTD
)

// String is Kafka's name of the codec.
func (c Compression) String() string {
	names := [...]string{"config", "none", "gzip", "snappy", "lz4", "zstd"}
	if c < 0 || int(c) >= len(names) {
		return "?"
	}
	return names[c]
}

// Durability is what an append waits for.
type Durability uint32

const (
	// PageCache: the operating system has it, as in Kafka. It survives a crash of the process.
	PageCache Durability = C.KLOG_DURABILITY_PAGE_CACHE
	// Fsync: the disk has it. It survives a power cut.
	Fsync Durability = C.KLOG_DURABILITY_FSYNC
)

// Origin is who made the batches that are appended.
type Origin uint32

const (
	// Client: offsets are assigned.
	Client Origin = C.KLOG_ORIGIN_CLIENT
	// Replication: offsets are kept.
	Replication Origin = C.KLOG_ORIGIN_REPLICATION
	// Coordinator: of transactions or groups.
	Coordinator Origin = C.KLOG_ORIGIN_COORDINATOR
	// RaftLeader: the leader of a Raft log.
	RaftLeader Origin = C.KLOG_ORIGIN_RAFT_LEADER
)

// Producer makes a batch that of an idempotent producer: sent again, it is answered with the offsets of the first time.
type Producer struct {
	ID           int64
	Epoch        int16
	BaseSequence int32
	// Transactional: the records belong to the producer's transaction.
	Transactional bool
}

// AppendOptions say how to append. The zero value, and nil, are the defaults.
type AppendOptions struct {
	Durability  Durability
	Compression Compression
	// CompressionLevel is Kafka's level of the codec, 0 its default.
	CompressionLevel int32
	// Producer, if not nil, is whose batch it is.
	Producer *Producer
	// LeaderEpoch, if not nil, is that of the batch; without it it is the log's latest. One below is ErrFencedLeaderEpoch,
	// unless AnyLeaderEpoch.
	LeaderEpoch *int32
	// AnyLeaderEpoch takes a leader epoch below the log's latest, and forgets later ones, as Kafka's log does it.
	AnyLeaderEpoch bool
	// ExpectedLogEnd, if not nil, is where the log must end; else the answer is ErrLogEndMismatch.
	ExpectedLogEnd *int64
	// Origin is who made ready batches.
	Origin Origin
	// TxnV2: markers among ready batches are of transaction version 2.
	TxnV2 bool
}

// AppendResult is what an append did.
type AppendResult struct {
	FirstOffset    int64 // -1 if nothing was appended
	LastOffset     int64
	LogStartOffset int64
	LogAppendTime  time.Time // NoTimestamp unless the topic's timestamps are that
	MaxTimestamp   time.Time // NoTimestamp for none
	Bytes          uint64
	Records        uint32
}

func (o *AppendOptions) c() C.klog_append_options {
	c := C.klog_append_options{struct_size: C.sizeof_klog_append_options}
	if o == nil {
		return c
	}
	c.durability = C.uint32_t(o.Durability)
	c.compression = C.int32_t(o.Compression)
	c.compression_level = C.int32_t(o.CompressionLevel)
	c.origin = C.uint32_t(o.Origin)
	if o.Producer != nil {
		c.flags |= C.KLOG_APPEND_HAS_PRODUCER
		c.producer_id = C.int64_t(o.Producer.ID)
		c.producer_epoch = C.int32_t(o.Producer.Epoch)
		c.base_sequence = C.int32_t(o.Producer.BaseSequence)
		if o.Producer.Transactional {
			c.flags |= C.KLOG_APPEND_TRANSACTIONAL
		}
	}
	if o.LeaderEpoch != nil {
		c.flags |= C.KLOG_APPEND_HAS_EPOCH
		c.leader_epoch = C.int32_t(*o.LeaderEpoch)
	}
	if o.AnyLeaderEpoch {
		c.flags |= C.KLOG_APPEND_ANY_EPOCH
	}
	if o.ExpectedLogEnd != nil {
		c.flags |= C.KLOG_APPEND_IF_LOG_END
		c.expected_log_end = C.int64_t(*o.ExpectedLogEnd)
	}
	if o.TxnV2 {
		c.flags |= C.KLOG_APPEND_TXN_V2
	}
	return c
}

func appendResult(c *C.klog_append_result) AppendResult {
	return AppendResult{
		FirstOffset: int64(c.first_offset), LastOffset: int64(c.last_offset), LogStartOffset: int64(c.log_start_offset),
		LogAppendTime: time.UnixMilli(int64(c.log_append_time_ms)), MaxTimestamp: time.UnixMilli(int64(c.max_timestamp)),
		Bytes: uint64(c.bytes_appended), Records: uint32(c.records),
	}
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

// A batch above this size is not kept for the next append.
const batchKept = 1 << 20

// Append appends records as one batch, all or nothing: a call that failed changed nothing. What is wrong with single
// records is in Error.Refused. No records is no error: offsets -1.
func (l *Log) Append(records []Record, opts *AppendOptions) (AppendResult, error) {
	b := batches.Get().(*Batch)
	b.Reset()
	for i := range records {
		b.Add(&records[i])
	}
	result, err := l.AppendBatch(b, opts)
	if cap(b.buf) <= batchKept {
		batches.Put(b)
	}
	return result, err
}

// refusedKept is of how many records an error tells.
const refusedKept = 32

// AppendBatch appends the records of a Batch, which stay in it: Append for those who reuse their memory.
func (l *Log) AppendBatch(b *Batch, opts *AppendOptions) (AppendResult, error) {
	defer runtime.KeepAlive(l)
	with := opts.c()
	result := C.klog_append_result{struct_size: C.sizeof_klog_append_result}
	refused := [refusedKept]C.klog_record_error{}
	refused[0].record_index = -1
	err := cError()
	packed := b.packed()
	status := C.klog_go_append_packed(l.c, unsafe.Pointer(unsafe.SliceData(packed)), C.size_t(len(packed)), &with,
		&refused[0], refusedKept, &result, &err)
	if status != C.KLOG_OK {
		return AppendResult{FirstOffset: -1, LastOffset: -1}, l.refused(status, refused[:], &result, &err)
	}
	return appendResult(&result), nil
}

// AppendRaw appends ready record batches, as a broker gets them: of a client one, of Origin Replication as many as there
// are, with the offsets that they have. The bytes are not changed.
func (l *Log) AppendRaw(batches []byte, opts *AppendOptions) (AppendResult, error) {
	defer runtime.KeepAlive(l)
	with := opts.c()
	result := C.klog_append_result{struct_size: C.sizeof_klog_append_result}
	refused := [refusedKept]C.klog_record_error{}
	refused[0].record_index = -1
	err := cError()
	status := C.klog_go_append_batches(l.c, first(batches), C.size_t(len(batches)), &with,
		&refused[0], refusedKept, &result, &err)
	if status != C.KLOG_OK {
		return AppendResult{FirstOffset: -1, LastOffset: -1}, l.refused(status, refused[:], &result, &err)
	}
	return appendResult(&result), nil
}

// refused is the error of an append, with the records that were refused. The library fills them from the front; what it
// left is as it was.
func (l *Log) refused(status C.klog_status, refused []C.klog_record_error, result *C.klog_append_result, err *C.klog_error) error {
	failed := l.failed(status, err).(*Error)
	for i := range refused {
		if refused[i].record_index < 0 || i > 0 && refused[i].record_index <= refused[i-1].record_index {
			break
		}
		failed.Refused = append(failed.Refused, RefusedRecord{int32(refused[i].record_index), KafkaCode(refused[i].kafka_code)})
	}
	return failed
}

// AppendOne appends a record without headers, and answers its offset. The zero Time is the time it is.
func (l *Log) AppendOne(key, value []byte, timestamp time.Time) (int64, error) {
	defer runtime.KeepAlive(l)
	ms := C.int64_t(math.MinInt64)
	if !timestamp.IsZero() {
		ms = C.int64_t(timestamp.UnixMilli())
	}
	var offset C.int64_t
	err := cError()
	status := C.klog_append_one(l.c, first(key), C.size_t(len(key)), first(value), C.size_t(len(value)), ms, &offset, &err)
	if status != C.KLOG_OK {
		return -1, l.failed(status, &err)
	}
	return int64(offset), nil
}

// EndTransaction ends the transaction of a producer, as its coordinator does.
func (l *Log) EndTransaction(producerID int64, producerEpoch int16, commit bool, coordinatorEpoch int32) (AppendResult, error) {
	defer runtime.KeepAlive(l)
	result := C.klog_append_result{struct_size: C.sizeof_klog_append_result}
	err := cError()
	var how C.uint32_t
	if commit {
		how = 1
	}
	status := C.klog_append_marker(l.c, C.int64_t(producerID), C.int32_t(producerEpoch), how, C.int32_t(coordinatorEpoch), &result, &err)
	if status != C.KLOG_OK {
		return AppendResult{FirstOffset: -1, LastOffset: -1}, l.failed(status, &err)
	}
	return appendResult(&result), nil
}
