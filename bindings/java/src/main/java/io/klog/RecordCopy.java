package io.klog;

import java.util.Collections;
import java.util.List;

/** A record of its own, independent of the cursor that it came from. Its arrays are not copied. */
public final class RecordCopy {
    private final long offset;
    private final long timestamp;
    private final byte[] key;
    private final byte[] value;
    private final List<Header> headers;

    RecordCopy(long offset, long timestamp, byte[] key, byte[] value, List<Header> headers) {
        this.offset = offset;
        this.timestamp = timestamp;
        this.key = key;
        this.value = value;
        this.headers = headers;
    }

    /**
     * Its place in the log.
     *
     * @return the offset
     */
    public long offset() {
        return offset;
    }

    /**
     * Its time.
     *
     * @return in ms since 1970; -1 for none
     */
    public long timestamp() {
        return timestamp;
    }

    /**
     * The key.
     *
     * @return its bytes; null without one
     */
    public byte[] key() {
        return key;
    }

    /**
     * The value.
     *
     * @return its bytes; null for a tombstone
     */
    public byte[] value() {
        return value;
    }

    /**
     * The headers.
     *
     * @return in order
     */
    public List<Header> headers() {
        return Collections.unmodifiableList(headers);
    }
}
