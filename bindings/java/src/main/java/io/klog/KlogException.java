package io.klog;

import java.util.Collections;
import java.util.List;

/**
 * What went wrong in klog. {@link #status()} decides; the package {@link io.klog.errors} has a class for each kind. A call
 * that failed changed nothing, unless it says otherwise.
 */
public class KlogException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What is known of a failure; klog fills it in. */
    public static final class Details {
        Status status = Status.UNKNOWN;
        String statusName = "";
        String kafkaName = "NONE";
        String message = "";
        String path = "";
        int kafkaCode;
        int errno;
        int flags;
        int partition = -1;
        int recordIndex = -1;
        long offset = -1;
        long position = -1;
        List<RecordError> recordErrors = Collections.emptyList();

        Details() {
        }

        private String text() {
            return message.isEmpty() ? statusName : statusName + ": " + message;
        }
    }

    private final transient Details details;

    /** The precise reason; it and the message outlive serialisation. */
    private final Status status;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    protected KlogException(Details details) {
        super(details.text());
        this.details = details;
        this.status = details.status;
    }

    /** After deserialisation what is left is the message and the status. */
    private Details details() {
        return details != null ? details : new Details();
    }

    /**
     * The precise reason.
     *
     * @return klog's status
     */
    public Status status() {
        return status;
    }

    /**
     * What Kafka answers a client for the same failure.
     *
     * @return the code of Kafka's protocol; 0 where it has none
     */
    public int kafkaCode() {
        return details().kafkaCode;
    }

    /**
     * The name of {@link #kafkaCode()}.
     *
     * @return such as {@code OFFSET_OUT_OF_RANGE}; {@code NONE} where Kafka has none
     */
    public String error() {
        return details().kafkaName;
    }

    /**
     * The operating system's error number.
     *
     * @return errno; 0 without one
     */
    public int errno() {
        return details().errno;
    }

    /**
     * The file or directory concerned.
     *
     * @return its path; empty if none
     */
    public String path() {
        return details().path;
    }

    /**
     * The partition concerned.
     *
     * @return its number; -1 if none
     */
    public int partition() {
        return details().partition;
    }

    /**
     * The offset concerned.
     *
     * @return the offset; -1 if none
     */
    public long offset() {
        return details().offset;
    }

    /**
     * The byte concerned, in a file or buffer.
     *
     * @return its position; -1 if none
     */
    public long position() {
        return details().position;
    }

    /**
     * The record concerned, of those that were given, or the line of a text.
     *
     * @return its index; -1 if none
     */
    public int recordIndex() {
        return details().recordIndex;
    }

    /**
     * The records that an append was refused for, as far as they are known.
     *
     * @return by rising index
     */
    public List<RecordError> recordErrors() {
        return Collections.unmodifiableList(details().recordErrors);
    }

    /**
     * Whether the same call may succeed later.
     *
     * @return true if it may
     */
    public boolean retriable() {
        return (details().flags & Layout.ERRF_RETRIABLE) != 0;
    }

    /**
     * Whether the manager must be closed.
     *
     * @return true if nothing else helps
     */
    public boolean fatal() {
        return (details().flags & Layout.ERRF_FATAL) != 0;
    }

    /**
     * Whether the log's directory went offline.
     *
     * @return true if it did
     */
    public boolean dirOffline() {
        return (details().flags & Layout.ERRF_DIR_OFFLINE) != 0;
    }
}
