package io.klog;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A record in the memory of its {@link Cursor}: valid until the next call on that cursor, which may give the same view again
 * for the next record. {@link #copy()} makes one that stays. Reading it allocates nothing, unless it says so.
 */
public final class RecordView {
    private ByteBuffer memory;
    private ByteBuffer key;
    private ByteBuffer value;
    private int at;
    private int flags;
    private int keyLength;
    private int valueLength;

    RecordView() {
    }

    /** Looks into another buffer from now on. */
    void open(ByteBuffer buffer) {
        memory = buffer;
        key = buffer.asReadOnlyBuffer();
        value = buffer.asReadOnlyBuffer();
    }

    /** Is the record of the entry that begins there. */
    void moveTo(int position) {
        at = position;
        flags = memory.get(position + Packed.ENTRY_FLAGS);
        keyLength = memory.getInt(position + Packed.ENTRY_KEY_LENGTH);
        valueLength = memory.getInt(position + Packed.ENTRY_VALUE_LENGTH);
    }

    /**
     * Its place in the log.
     *
     * @return the offset
     */
    public long offset() {
        return memory.getLong(at + Packed.ENTRY_OFFSET);
    }

    /**
     * Its time.
     *
     * @return in ms since 1970; -1 for none
     */
    public long timestamp() {
        return memory.getLong(at + Packed.ENTRY_TIMESTAMP);
    }

    /**
     * Whether its time is that of the append.
     *
     * @return false if the producer gave it
     */
    public boolean isLogAppendTime() {
        return (flags & Packed.LOG_APPEND_TIME) != 0;
    }

    /**
     * Whether it is a control record, such as a transaction's marker.
     *
     * @return true if it is
     */
    public boolean isControl() {
        return (flags & Packed.CONTROL) != 0;
    }

    /**
     * Whether it belongs to a transaction.
     *
     * @return true if it does
     */
    public boolean isTransactional() {
        return (flags & Packed.TRANSACTIONAL) != 0;
    }

    /**
     * Leader epoch of its batch.
     *
     * @return the epoch; -1 for none
     */
    public int leaderEpoch() {
        return memory.getInt(at + Packed.ENTRY_EPOCH);
    }

    /**
     * Its producer's sequence number.
     *
     * @return the number; -1 for none
     */
    public int sequence() {
        return memory.getInt(at + Packed.ENTRY_SEQUENCE);
    }

    /**
     * Whether it has a key.
     *
     * @return false if the key is null
     */
    public boolean hasKey() {
        return (flags & Packed.HAS_KEY) != 0;
    }

    /**
     * Whether it has a value.
     *
     * @return false for a tombstone
     */
    public boolean hasValue() {
        return (flags & Packed.HAS_VALUE) != 0;
    }

    /**
     * How long the key is.
     *
     * @return bytes; 0 for null too
     */
    public int keySize() {
        return keyLength;
    }

    /**
     * How long the value is.
     *
     * @return bytes; 0 for null too
     */
    public int valueSize() {
        return valueLength;
    }

    /**
     * The key, in the cursor's memory: valid until the next call on the cursor or of this method.
     *
     * @return read-only, the same buffer each time; null without a key
     */
    public ByteBuffer key() {
        return hasKey() ? window(key, at + Packed.ENTRY, keyLength) : null;
    }

    /**
     * The value, in the cursor's memory: valid until the next call on the cursor or of this method.
     *
     * @return read-only, the same buffer each time; null for a tombstone
     */
    public ByteBuffer value() {
        return hasValue() ? window(value, at + Packed.ENTRY + keyLength, valueLength) : null;
    }

    private static ByteBuffer window(ByteBuffer of, int from, int length) {
        of.limit(from + length);
        of.position(from);
        return of;
    }

    /**
     * A copy of the key.
     *
     * @return its bytes; null without a key
     */
    public byte[] keyBytes() {
        return hasKey() ? bytes(at + Packed.ENTRY, keyLength) : null;
    }

    /**
     * A copy of the value.
     *
     * @return its bytes; null for a tombstone
     */
    public byte[] valueBytes() {
        return hasValue() ? bytes(at + Packed.ENTRY + keyLength, valueLength) : null;
    }

    /**
     * How many headers it has.
     *
     * @return the count
     */
    public int headerCount() {
        return memory.getInt(at + Packed.ENTRY_HEADER_COUNT);
    }

    /**
     * Copies of the headers.
     *
     * @return in order
     */
    public List<Header> headers() {
        int count = headerCount();
        if (count == 0) {
            return Collections.emptyList();
        }
        List<Header> headers = new ArrayList<>(count);
        int from = at + Packed.ENTRY + keyLength + valueLength;
        for (int i = 0; i < count; i++) {
            int nameLength = memory.getInt(from);
            int length = memory.getInt(from + 4);
            from += 8;
            String name = new String(bytes(from, nameLength), StandardCharsets.UTF_8);
            from += nameLength;
            headers.add(new Header(name, length == Packed.NULL_LENGTH ? null : bytes(from, length)));
            from += Math.max(length, 0);
        }
        return headers;
    }

    private byte[] bytes(int from, int length) {
        byte[] copy = new byte[length];
        ByteBuffer source = memory.duplicate();
        source.position(from);
        source.get(copy);
        return copy;
    }

    /**
     * A record that stays as it is.
     *
     * @return a copy of everything
     */
    public RecordCopy copy() {
        return new RecordCopy(offset(), timestamp(), keyBytes(), valueBytes(), headers());
    }

    @Override
    public String toString() {
        return "record " + offset() + " ts=" + timestamp() + " key=" + (hasKey() ? keyLength + " bytes" : "null") + " value="
                + (hasValue() ? valueLength + " bytes" : "null");
    }
}
