package io.klog;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The memory of one call: its error, the structs that go in and come out, and its texts.
 *
 * <p>Frames are pooled; one that is taken belongs to its caller until it is given back. They are not bound to threads, so
 * that a million virtual threads need no more of them than there are calls at once.
 */
final class Frame {
    private static final int ERROR = 0;
    private static final int IN = ERROR + Layout.ERROR_SIZE;
    private static final int IN_BYTES = 512;
    private static final int OUT = IN + IN_BYTES;
    private static final int NUMBER = OUT + 256;
    private static final int RECORD_ERRORS = NUMBER + 64;
    private static final int RECORD_ERRORS_MAX = 64;
    private static final int TEXTS = RECORD_ERRORS + RECORD_ERRORS_MAX * Layout.RECORD_ERROR_SIZE;
    private static final int CAPACITY = 16 << 10;
    /** A larger bulk buffer is not kept for the next call. */
    private static final int BULK_KEPT = 1 << 20;

    private static final AtomicReferenceArray<Frame> POOL = new AtomicReferenceArray<>(32);

    /** A call whose output is a text. */
    interface TextCall {
        int into(long buffer, long capacity, long needed);
    }

    private final DirectBuffer memory = DirectBuffer.allocate(CAPACITY);
    private final ByteBuffer bytes = memory.bytes;
    private final List<DirectBuffer> overflow = new ArrayList<>();
    private int textsEnd = TEXTS;
    /** Of the struct that goes in: the one begun last. */
    private int in = IN;
    private int inEnd = IN;
    private int length;
    private DirectBuffer bulk;

    private Frame() {
        bytes.putInt(ERROR, Layout.ERROR_SIZE);
        forgetRecordErrors();
    }

    static Frame take() {
        int slot = slot();
        Frame pooled = POOL.getAndSet(slot, null);
        return pooled != null ? pooled : new Frame();
    }

    void give() {
        textsEnd = TEXTS;
        inEnd = IN;
        overflow.clear();
        POOL.lazySet(slot(), this);
    }

    private static int slot() {
        long id = Thread.currentThread().getId();
        return (int) (id ^ id >>> 5) & 31;
    }

    /** Throws what a call that did not answer OK has to say. */
    void check(int status) {
        if (status != 0) {
            throw Failure.of(status, this);
        }
    }

    /** As check, for functions that say nothing but their status. */
    static void checkPlain(int status) {
        if (status != 0) {
            throw Failure.of(status);
        }
    }

    long error() {
        return memory.address + ERROR;
    }

    int errorInt(int field) {
        return bytes.getInt(ERROR + field);
    }

    long errorLong(int field) {
        return bytes.getLong(ERROR + field);
    }

    String errorText(int field, int lengthField) {
        return text(bytes, ERROR + field, errorInt(lengthField));
    }

    /** A struct that goes in: all zero but for its size. What is begun later lies behind it. */
    long in(int size) {
        if (inEnd + size > IN + IN_BYTES) {
            throw new AssertionError("structs of " + (inEnd + size - IN) + " bytes for one call");
        }
        in = inEnd;
        inEnd += size;
        return begin(in, size);
    }

    /** A struct that comes out. */
    long out(int size) {
        return begin(OUT, size);
    }

    private long begin(int at, int size) {
        for (int i = 0; i < size; i += 8) {
            bytes.putLong(at + i, 0);
        }
        bytes.putInt(at, size);
        return memory.address + at;
    }

    void inInt(int field, int value) {
        bytes.putInt(in + field, value);
    }

    void inLong(int field, long value) {
        bytes.putLong(in + field, value);
    }

    void inDouble(int field, double value) {
        bytes.putDouble(in + field, value);
    }

    void inBytes(int field, byte[] value) {
        for (int i = 0; i < value.length; i++) {
            bytes.put(in + field + i, value[i]);
        }
    }

    int outInt(int field) {
        return bytes.getInt(OUT + field);
    }

    long outLong(int field) {
        return bytes.getLong(OUT + field);
    }

    byte[] outBytes(int field, int count) {
        byte[] value = new byte[count];
        for (int i = 0; i < count; i++) {
            value[i] = bytes.get(OUT + field + i);
        }
        return value;
    }

    /** Where a single number or handle comes out. */
    long number() {
        bytes.putLong(NUMBER, 0);
        return memory.address + NUMBER;
    }

    long numberValue() {
        return bytes.getLong(NUMBER);
    }

    int numberInt() {
        return bytes.getInt(NUMBER);
    }

    long recordErrors() {
        return memory.address + RECORD_ERRORS;
    }

    int recordErrorsMax() {
        return RECORD_ERRORS_MAX;
    }

    /** The records that an append was refused for, up to the first entry that was not written. */
    List<RecordError> takeRecordErrors() {
        List<RecordError> errors = new ArrayList<>();
        for (int i = 0; i < RECORD_ERRORS_MAX; i++) {
            int at = RECORD_ERRORS + i * Layout.RECORD_ERROR_SIZE;
            int index = bytes.getInt(at + Layout.RECORD_ERROR_RECORD_INDEX);
            if (index < 0) {
                break;
            }
            errors.add(new RecordError(index, bytes.getInt(at + Layout.RECORD_ERROR_KAFKA_CODE)));
        }
        if (!errors.isEmpty()) {
            forgetRecordErrors();
        }
        return errors;
    }

    private void forgetRecordErrors() {
        for (int at = RECORD_ERRORS; at < TEXTS; at += 8) {
            bytes.putLong(at, -1);
        }
    }

    /** Copies bytes in; null is address 0. Their length is {@link #length()} then. */
    long put(byte[] data) {
        if (data == null) {
            length = 0;
            return 0;
        }
        length = data.length;
        long room = (length + 8L) & ~7L;
        if (textsEnd + room > CAPACITY) {
            DirectBuffer more = DirectBuffer.allocate(DirectBuffer.grown(0, room));
            overflow.add(more);
            more.bytes.duplicate().put(data);
            return more.address;
        }
        int at = textsEnd;
        ByteBuffer target = bytes.duplicate();
        target.position(at);
        target.put(data);
        // A NUL, for what is not given by its length.
        bytes.put(at + length, (byte) 0);
        textsEnd += (int) room;
        return memory.address + at;
    }

    long put(String text) {
        return put(text == null ? null : text.getBytes(StandardCharsets.UTF_8));
    }

    /** How many bytes the last put copied. */
    long length() {
        return length;
    }

    /** A list of addresses, as of char *const *. */
    long putAddresses(long[] addresses) {
        DirectBuffer list = DirectBuffer.allocate(Math.max(8, addresses.length * 8));
        overflow.add(list);
        for (int i = 0; i < addresses.length; i++) {
            list.bytes.putLong(i * 8, addresses[i]);
        }
        return list.address;
    }

    /** Memory for a lot of bytes, for the time of a call. */
    DirectBuffer bulk(int capacity) {
        if (bulk != null && bulk.capacity() >= capacity) {
            return bulk;
        }
        DirectBuffer made = DirectBuffer.allocate(DirectBuffer.grown(4096, capacity));
        if (made.capacity() <= BULK_KEPT) {
            bulk = made;
        } else {
            overflow.add(made);
        }
        return made;
    }

    /** The text that a call gives, however long. */
    String read(TextCall call) {
        DirectBuffer buffer = bulk(8 << 10);
        // It may grow between two calls; each time there is more room than was asked for.
        for (int attempt = 0; attempt < 16; attempt++) {
            int status = call.into(buffer.address, buffer.capacity(), number());
            if (status != Status.BUFFER_TOO_SMALL.code()) {
                check(status);
                return text(buffer.bytes, 0, (int) numberValue() - 1);
            }
            buffer = bulk(DirectBuffer.grown(0, numberValue() + numberValue() / 4 + 1024));
        }
        throw new IllegalStateException("the text grew faster than it was read");
    }

    static String text(ByteBuffer from, int at, int length) {
        if (length <= 0) {
            return "";
        }
        byte[] utf8 = new byte[length];
        ByteBuffer source = from.duplicate();
        source.position(at);
        source.get(utf8);
        return new String(utf8, StandardCharsets.UTF_8);
    }
}
