package io.klog;

import io.klog.errors.BufferTooSmallException;
import io.klog.errors.CleaningAbortedException;
import io.klog.errors.CorruptRecordException;
import io.klog.errors.FencedLeaderEpochException;
import io.klog.errors.InvalidArgumentException;
import io.klog.errors.InvalidConfigurationException;
import io.klog.errors.InvalidProducerEpochException;
import io.klog.errors.InvalidRecordException;
import io.klog.errors.InvalidTimestampException;
import io.klog.errors.InvalidTopicException;
import io.klog.errors.InvalidTxnStateException;
import io.klog.errors.KafkaStorageException;
import io.klog.errors.KlogBusyException;
import io.klog.errors.KlogCancelledException;
import io.klog.errors.KlogClosedException;
import io.klog.errors.KlogDefectException;
import io.klog.errors.KlogTimeoutException;
import io.klog.errors.LogDirLockedException;
import io.klog.errors.LogDirNotFoundException;
import io.klog.errors.LogEndMismatchException;
import io.klog.errors.OffsetOutOfRangeException;
import io.klog.errors.OffsetsOutOfOrderException;
import io.klog.errors.OutOfOrderSequenceException;
import io.klog.errors.ReadOnlyException;
import io.klog.errors.RecordBatchTooLargeException;
import io.klog.errors.RecordTooLargeException;
import io.klog.errors.ResourceLimitException;
import io.klog.errors.TransactionCoordinatorFencedException;
import io.klog.errors.UnknownTopicOrPartitionException;
import io.klog.errors.UnsupportedCompressionTypeException;
import io.klog.errors.UnsupportedForMessageFormatException;
import java.util.Collections;
import java.util.List;

/** Makes exceptions of statuses. */
final class Failure {
    private Failure() {
    }

    /** Of a call that wrote its error into a frame. */
    static KlogException of(int status, Frame frame) {
        return of(status, frame, Collections.<RecordError>emptyList());
    }

    /** Of an append, with what was wrong with single records. */
    static KlogException of(int status, Frame frame, List<RecordError> recordErrors) {
        if (frame.errorInt(Layout.ERROR_STATUS) != status) {
            return of(status);
        }
        KlogException.Details details = new KlogException.Details();
        details.status = Status.of(status);
        details.kafkaCode = frame.errorInt(Layout.ERROR_KAFKA_CODE);
        details.errno = frame.errorInt(Layout.ERROR_OS_ERRNO);
        details.flags = frame.errorInt(Layout.ERROR_FLAGS);
        details.partition = frame.errorInt(Layout.ERROR_PARTITION);
        details.offset = frame.errorLong(Layout.ERROR_OFFSET);
        details.position = frame.errorLong(Layout.ERROR_POSITION);
        details.recordIndex = frame.errorInt(Layout.ERROR_RECORD_INDEX);
        details.path = frame.errorText(Layout.ERROR_PATH, Layout.ERROR_PATH_LEN);
        details.message = frame.errorText(Layout.ERROR_MESSAGE, Layout.ERROR_MESSAGE_LEN);
        details.recordErrors = recordErrors;
        return make(name(details, status));
    }

    /** Of a call that says nothing but its status. */
    static KlogException of(int status) {
        KlogException.Details details = new KlogException.Details();
        details.status = Status.of(status);
        return make(name(details, status));
    }

    /** Of a read whose buffer does not hold the first batch. */
    static KlogException tooSmall(long bytesNeeded) {
        KlogException.Details details = new KlogException.Details();
        details.status = Status.BUFFER_TOO_SMALL;
        details.position = bytesNeeded;
        details.message = "the first batch does not fit the buffer, which must hold " + bytesNeeded + " bytes";
        return make(name(details, Status.BUFFER_TOO_SMALL.code()));
    }

    private static KlogException.Details name(KlogException.Details details, int status) {
        details.statusName = Library.calls().statusName(status);
        details.kafkaName = details.kafkaCode == 0 ? "NONE" : Library.calls().kafkaErrorName(details.kafkaCode);
        return details;
    }

    private static KlogException make(KlogException.Details details) {
        switch (details.status) {
            case OFFSET_OUT_OF_RANGE:
                return new OffsetOutOfRangeException(details);
            case CORRUPT_MESSAGE:
            case CORRUPT_INDEX:
            case CORRUPT_STATE:
                return new CorruptRecordException(details);
            case INVALID_RECORD:
                return new InvalidRecordException(details);
            case INVALID_TIMESTAMP:
                return new InvalidTimestampException(details);
            case MESSAGE_TOO_LARGE:
            case TOO_LARGE:
                return new RecordTooLargeException(details);
            case RECORD_LIST_TOO_LARGE:
            case SEGMENT_OVERFLOW:
                return new RecordBatchTooLargeException(details);
            case UNSUPPORTED_FOR_MESSAGE_FORMAT:
                return new UnsupportedForMessageFormatException(details);
            case UNSUPPORTED_COMPRESSION_TYPE:
                return new UnsupportedCompressionTypeException(details);
            case OFFSETS_OUT_OF_ORDER:
            case UNEXPECTED_APPEND_OFFSET:
                return new OffsetsOutOfOrderException(details);
            case OUT_OF_ORDER_SEQUENCE_NUMBER:
            case DUPLICATE_SEQUENCE_NUMBER:
            case UNKNOWN_PRODUCER_ID:
                return new OutOfOrderSequenceException(details);
            case INVALID_PRODUCER_EPOCH:
            case PRODUCER_FENCED:
                return new InvalidProducerEpochException(details);
            case INVALID_TXN_STATE:
                return new InvalidTxnStateException(details);
            case TRANSACTION_COORDINATOR_FENCED:
                return new TransactionCoordinatorFencedException(details);
            case LOG_END_MISMATCH:
                return new LogEndMismatchException(details);
            case FENCED_LEADER_EPOCH:
            case UNKNOWN_LEADER_EPOCH:
                return new FencedLeaderEpochException(details);
            case UNKNOWN_TOPIC_OR_PARTITION:
                return new UnknownTopicOrPartitionException(details);
            case INVALID_TOPIC_EXCEPTION:
            case INVALID_PARTITIONS:
            case INCONSISTENT_TOPIC_ID:
            case DUPLICATE_LOG:
                return new InvalidTopicException(details);
            case INVALID_CONFIG:
            case UNKNOWN_CONFIG:
                return new InvalidConfigurationException(details);
            case KAFKA_STORAGE_ERROR:
            case NO_SPACE:
            case DIR_OFFLINE:
            case NO_FILES:
                return new KafkaStorageException(details);
            case DIR_LOCKED:
                return new LogDirLockedException(details);
            case LOG_DIR_NOT_FOUND:
                return new LogDirNotFoundException(details);
            case CLOSED:
            case STALE_HANDLE:
            case NULL_HANDLE:
            case FORKED:
                return new KlogClosedException(details);
            case BUSY:
                return new KlogBusyException(details);
            case TIMED_OUT:
            case WOULD_BLOCK:
            case QUEUE_FULL:
                return new KlogTimeoutException(details);
            case CANCELLED:
                return new KlogCancelledException(details);
            case READ_ONLY:
                return new ReadOnlyException(details);
            case BUFFER_TOO_SMALL:
                return new BufferTooSmallException(details);
            case INVALID_ARGUMENT:
            case NULL_ARGUMENT:
            case STRUCT_SIZE:
            case ABI:
            case UNSUPPORTED:
            case WRONG_KIND:
            case REENTRANT:
                return new InvalidArgumentException(details);
            case CLEAN_ABORTED:
            case CLEAN_PAUSED:
                return new CleaningAbortedException(details);
            case NO_MEMORY:
            case LIMIT:
                return new ResourceLimitException(details);
            case PANIC:
            case POISONED:
            case BUG:
                return new KlogDefectException(details);
            default:
                return new KlogException(details);
        }
    }
}
