package io.klog;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;

/**
 * Records that are appended together, as one batch. Holds them outside of the heap, in the form that the library reads;
 * {@link #clear()} keeps the memory for the next batch. One thread at a time.
 */
public final class RecordBatchBuilder {
    /** As a record's timestamp: none. */
    public static final long TIMESTAMP_NONE = -1;
    /** As a record's timestamp: the time of the append. */
    public static final long TIMESTAMP_NOW = Long.MIN_VALUE;

    private DirectBuffer memory;
    private int end;
    private int count;

    /** Has room for 16 KiB, and grows. */
    public RecordBatchBuilder() {
        this(16 << 10);
    }

    /**
     * Has room for so many bytes, and grows.
     *
     * @param capacity in bytes
     */
    public RecordBatchBuilder(int capacity) {
        memory = DirectBuffer.allocate(Math.max(capacity, Packed.HEAD));
        clear();
    }

    /**
     * Forgets the records, and keeps the memory.
     *
     * @return this
     */
    public RecordBatchBuilder clear() {
        ByteBuffer to = memory.bytes;
        to.putInt(0, Packed.MAGIC);
        to.putShort(Packed.HEAD_VERSION, Packed.VERSION);
        to.putShort(Packed.HEAD_LENGTH, (short) Packed.HEAD);
        to.putInt(12, 0);
        to.putLong(Packed.HEAD_OFFSET, -1);
        end = Packed.HEAD;
        count = 0;
        return this;
    }

    /**
     * Adds a record with the time of the append.
     *
     * @param key may be null
     * @param value null is a tombstone
     * @return this
     */
    public RecordBatchBuilder add(byte[] key, byte[] value) {
        return add(TIMESTAMP_NOW, key, value);
    }

    /**
     * Adds a record.
     *
     * @param timestamp in ms since 1970, {@link #TIMESTAMP_NOW} or {@link #TIMESTAMP_NONE}
     * @param key may be null
     * @param value null is a tombstone
     * @return this
     */
    public RecordBatchBuilder add(long timestamp, byte[] key, byte[] value) {
        return add(timestamp, key, value, Collections.<Header>emptyList());
    }

    /**
     * Adds a record with headers.
     *
     * @param timestamp in ms since 1970, {@link #TIMESTAMP_NOW} or {@link #TIMESTAMP_NONE}
     * @param key may be null
     * @param value null is a tombstone
     * @param headers in order
     * @return this
     */
    public RecordBatchBuilder add(long timestamp, byte[] key, byte[] value, List<Header> headers) {
        int keyLength = key == null ? 0 : key.length;
        int valueLength = value == null ? 0 : value.length;
        byte[][] names = headers.isEmpty() ? null : new byte[headers.size()][];
        long headerBytes = 0;
        for (int i = 0; names != null && i < names.length; i++) {
            names[i] = headers.get(i).key().getBytes(StandardCharsets.UTF_8);
            byte[] of = headers.get(i).value();
            headerBytes += 8L + names[i].length + (of == null ? 0 : of.length);
        }
        int at = begin(timestamp, key != null, keyLength, value != null, valueLength, headerBytes, headers.size());
        ByteBuffer to = memory.bytes;
        to.position(at + Packed.ENTRY);
        if (key != null) {
            to.put(key);
        }
        if (value != null) {
            to.put(value);
        }
        for (int i = 0; names != null && i < names.length; i++) {
            byte[] of = headers.get(i).value();
            to.putInt(names[i].length).putInt(of == null ? Packed.NULL_LENGTH : of.length).put(names[i]);
            if (of != null) {
                to.put(of);
            }
        }
        finish(at);
        return this;
    }

    /**
     * Adds a record without headers: the remaining bytes of key and value, whose positions stay.
     *
     * @param timestamp in ms since 1970, {@link #TIMESTAMP_NOW} or {@link #TIMESTAMP_NONE}
     * @param key may be null
     * @param value null is a tombstone
     * @return this
     */
    public RecordBatchBuilder add(long timestamp, ByteBuffer key, ByteBuffer value) {
        int keyLength = key == null ? 0 : key.remaining();
        int valueLength = value == null ? 0 : value.remaining();
        int at = begin(timestamp, key != null, keyLength, value != null, valueLength, 0, 0);
        ByteBuffer to = memory.bytes;
        to.position(at + Packed.ENTRY);
        if (key != null) {
            to.put(key.duplicate());
        }
        if (value != null) {
            to.put(value.duplicate());
        }
        finish(at);
        return this;
    }

    /** Writes an entry's head, with room behind it. */
    private int begin(long timestamp, boolean hasKey, int keyLength, boolean hasValue, int valueLength, long headerBytes,
            int headers) {
        long length = Packed.padded(Packed.ENTRY + (long) keyLength + valueLength + headerBytes);
        if (end + length > memory.capacity()) {
            grow(end + length);
        }
        ByteBuffer to = memory.bytes;
        int at = end;
        to.putInt(at, (int) length);
        to.putInt(at + Packed.ENTRY_KIND,
                Packed.KIND_RECORD | ((hasKey ? Packed.HAS_KEY : 0) | (hasValue ? Packed.HAS_VALUE : 0)) << 8);
        to.putLong(at + Packed.ENTRY_OFFSET, -1);
        to.putLong(at + Packed.ENTRY_TIMESTAMP, timestamp);
        to.putInt(at + Packed.ENTRY_KEY_LENGTH, keyLength);
        to.putInt(at + Packed.ENTRY_VALUE_LENGTH, valueLength);
        to.putInt(at + Packed.ENTRY_HEADER_BYTES, (int) headerBytes);
        to.putInt(at + Packed.ENTRY_HEADER_COUNT, headers);
        to.putInt(at + Packed.ENTRY_EPOCH, 0);
        to.putInt(at + Packed.ENTRY_SEQUENCE, -1);
        return at;
    }

    /** Pads an entry with zeros; the record counts from here on. */
    private void finish(int at) {
        ByteBuffer to = memory.bytes;
        int next = at + to.getInt(at);
        while (to.position() < next) {
            to.put((byte) 0);
        }
        end = next;
        count++;
    }

    private void grow(long needed) {
        DirectBuffer larger = DirectBuffer.allocate(DirectBuffer.grown(memory.capacity(), needed));
        ByteBuffer from = memory.bytes.duplicate();
        from.position(0);
        from.limit(end);
        larger.bytes.duplicate().put(from);
        memory = larger;
    }

    /**
     * How many records there are.
     *
     * @return the count
     */
    public int count() {
        return count;
    }

    /**
     * How much memory the records take; the batch in the log is smaller.
     *
     * @return in bytes
     */
    public int sizeInBytes() {
        return end;
    }

    /** The records as a packed buffer of {@link #sizeInBytes()} bytes. */
    DirectBuffer packed() {
        memory.bytes.putInt(Packed.HEAD_ENTRIES, count);
        memory.bytes.putLong(Packed.HEAD_BYTES, end);
        return memory;
    }
}
