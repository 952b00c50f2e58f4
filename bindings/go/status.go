package klog

// #include "shim.h"
import "C"

import "strings"

// Status says why a call failed. Its values are errors: errors.Is(err, klog.ErrOffsetOutOfRange) asks for one, whatever
// else the error tells.
type Status int32

// The statuses, under Kafka's names where Kafka has one.
const (
	ErrNullArgument                 Status = C.KLOG_ERR_NULL_ARGUMENT
	ErrInvalidArgument              Status = C.KLOG_ERR_INVALID_ARGUMENT
	ErrStructSize                   Status = C.KLOG_ERR_STRUCT_SIZE
	ErrABI                          Status = C.KLOG_ERR_ABI
	ErrUnsupported                  Status = C.KLOG_ERR_UNSUPPORTED
	ErrNullHandle                   Status = C.KLOG_ERR_NULL_HANDLE
	ErrWrongKind                    Status = C.KLOG_ERR_WRONG_KIND
	ErrForked                       Status = C.KLOG_ERR_FORKED
	ErrClosed                       Status = C.KLOG_ERR_CLOSED // also errors.Is(err, os.ErrClosed)
	ErrBusy                         Status = C.KLOG_ERR_BUSY
	ErrReadOnly                     Status = C.KLOG_ERR_READ_ONLY
	ErrTimedOut                     Status = C.KLOG_ERR_TIMED_OUT
	ErrCancelled                    Status = C.KLOG_ERR_CANCELLED
	ErrQueueFull                    Status = C.KLOG_ERR_QUEUE_FULL
	ErrBufferTooSmall               Status = C.KLOG_ERR_BUFFER_TOO_SMALL
	ErrOffsetOutOfRange             Status = C.KLOG_ERR_OFFSET_OUT_OF_RANGE
	ErrCorruptMessage               Status = C.KLOG_ERR_CORRUPT_MESSAGE
	ErrInvalidRecord                Status = C.KLOG_ERR_INVALID_RECORD
	ErrInvalidTimestamp             Status = C.KLOG_ERR_INVALID_TIMESTAMP
	ErrMessageTooLarge              Status = C.KLOG_ERR_MESSAGE_TOO_LARGE
	ErrRecordListTooLarge           Status = C.KLOG_ERR_RECORD_LIST_TOO_LARGE
	ErrTooLarge                     Status = C.KLOG_ERR_TOO_LARGE
	ErrUnsupportedForMessageFormat  Status = C.KLOG_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT
	ErrUnsupportedCompressionType   Status = C.KLOG_ERR_UNSUPPORTED_COMPRESSION_TYPE
	ErrOffsetsOutOfOrder            Status = C.KLOG_ERR_OFFSETS_OUT_OF_ORDER
	ErrUnexpectedAppendOffset       Status = C.KLOG_ERR_UNEXPECTED_APPEND_OFFSET
	ErrSegmentOverflow              Status = C.KLOG_ERR_SEGMENT_OVERFLOW
	ErrOutOfOrderSequenceNumber     Status = C.KLOG_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER
	ErrInvalidProducerEpoch         Status = C.KLOG_ERR_INVALID_PRODUCER_EPOCH
	ErrInvalidTxnState              Status = C.KLOG_ERR_INVALID_TXN_STATE
	ErrTransactionCoordinatorFenced Status = C.KLOG_ERR_TRANSACTION_COORDINATOR_FENCED
	ErrLogEndMismatch               Status = C.KLOG_ERR_LOG_END_MISMATCH
	ErrFencedLeaderEpoch            Status = C.KLOG_ERR_FENCED_LEADER_EPOCH
	ErrUnknownLeaderEpoch           Status = C.KLOG_ERR_UNKNOWN_LEADER_EPOCH
	ErrUnknownTopicOrPartition      Status = C.KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION // also errors.Is(err, fs.ErrNotExist)
	ErrInvalidTopic                 Status = C.KLOG_ERR_INVALID_TOPIC_EXCEPTION
	ErrInvalidPartitions            Status = C.KLOG_ERR_INVALID_PARTITIONS
	ErrInconsistentTopicID          Status = C.KLOG_ERR_INCONSISTENT_TOPIC_ID
	ErrInvalidConfig                Status = C.KLOG_ERR_INVALID_CONFIG
	ErrUnknownConfig                Status = C.KLOG_ERR_UNKNOWN_CONFIG
	ErrDuplicateLog                 Status = C.KLOG_ERR_DUPLICATE_LOG
	ErrOffsetMovedToTieredStorage   Status = C.KLOG_ERR_OFFSET_MOVED_TO_TIERED_STORAGE
	ErrKafkaStorage                 Status = C.KLOG_ERR_KAFKA_STORAGE_ERROR
	ErrNoSpace                      Status = C.KLOG_ERR_NO_SPACE
	ErrDirOffline                   Status = C.KLOG_ERR_DIR_OFFLINE
	ErrDirLocked                    Status = C.KLOG_ERR_DIR_LOCKED
	ErrLogDirNotFound               Status = C.KLOG_ERR_LOG_DIR_NOT_FOUND // also errors.Is(err, fs.ErrNotExist)
	ErrNoFiles                      Status = C.KLOG_ERR_NO_FILES
	ErrCorruptIndex                 Status = C.KLOG_ERR_CORRUPT_INDEX
	ErrCorruptState                 Status = C.KLOG_ERR_CORRUPT_STATE
	ErrCleanAborted                 Status = C.KLOG_ERR_CLEAN_ABORTED
	ErrCleanPaused                  Status = C.KLOG_ERR_CLEAN_PAUSED
	ErrNoMemory                     Status = C.KLOG_ERR_NO_MEMORY
	ErrLimit                        Status = C.KLOG_ERR_LIMIT
	ErrPanic                        Status = C.KLOG_ERR_PANIC
	ErrPoisoned                     Status = C.KLOG_ERR_POISONED
	ErrBug                          Status = C.KLOG_ERR_BUG
)

// String is the status's name, as in OFFSET_OUT_OF_RANGE.
func (s Status) String() string {
	return strings.TrimPrefix(C.GoString(C.klog_status_name(C.klog_status(s))), "KLOG_ERR_")
}

// Error is the status's name.
func (s Status) Error() string { return "klog: " + s.String() }

// KafkaCode is an error code of Kafka's protocol: what a broker answers a client for the same failure. 0 is none.
type KafkaCode int32

// String is Kafka's name for the code.
func (k KafkaCode) String() string {
	return C.GoString(C.klog_kafka_error_name(C.int32_t(k)))
}
