package io.klog;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ConcurrentModificationException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Reads a log record by record, from any offset on: {@link #next()} until it gives null, and again later, when there may be
 * more. Checks the checksum of every batch. A batch that cannot be decoded throws once, and the next call goes on behind it.
 *
 * <p>One thread at a time: a call while another one reads throws {@link ConcurrentModificationException}. Only
 * {@link #close()} may come from any thread at any time.
 */
public final class Cursor implements Iterable<RecordView>, AutoCloseable {
    /** It begins small, for the cursor that reads one record, and grows for the one that reads on. */
    private static final int FIRST_BYTES = 16 << 10;
    private static final int FULL_BYTES = 256 << 10;

    private final Waits waits;
    private final long log;
    private final Handle handle;
    /** What {@link #next(Duration)} waits for. */
    private final OffsetKind endKind;
    private volatile Wait waiting;
    private final AtomicBoolean busy = new AtomicBoolean();
    private final RecordView view = new RecordView();
    private DirectBuffer memory;
    /** Entries that are not given yet lie from here to the end. */
    private int at;
    private int end;
    private long position;

    Cursor(Handle.Children siblings, Waits waits, long log, long id, OffsetKind endKind, long offset) {
        this.waits = waits;
        this.log = log;
        handle = new Handle(this, id, siblings, cursor -> Library.calls().cursorClose(cursor));
        this.endKind = endKind;
        this.position = offset;
        lend(DirectBuffer.allocate(FIRST_BYTES));
    }

    long id() {
        return handle.id;
    }

    private void lend(DirectBuffer buffer) {
        memory = buffer;
        view.open(buffer.bytes);
    }

    /**
     * The next record, in this cursor's memory: valid until the next call.
     *
     * @return always the same view; null at the end of the log as it is now
     */
    public RecordView next() {
        if (handle.isClosed()) {
            throw Failure.of(Status.CLOSED.code());
        }
        for (;;) {
            while (at < end) {
                int entry = at;
                at += memory.bytes.getInt(entry);
                if (memory.bytes.get(entry + Packed.ENTRY_KIND) == Packed.KIND_RECORD) {
                    view.moveTo(entry);
                    position = view.offset() + 1;
                    return view;
                }
            }
            if (!fill()) {
                return null;
            }
        }
    }

    /**
     * The next record; at the end of the log waits for one. The handle that this cursor was opened with has to be open still.
     *
     * @param wait how long; null is no limit
     * @return as {@link #next()}; null if the time passed
     * @throws InterruptedException if the thread was interrupted while it waited; the cursor keeps its place
     */
    public RecordView next(Duration wait) throws InterruptedException {
        RecordView ready = next();
        Deadline deadline = ready == null ? Deadline.in(wait) : null;
        while (ready == null) {
            if (!await(new Wait(log, endKind, position, 0, deadline))) {
                return null;
            }
            ready = next();
        }
        return ready;
    }

    private boolean await(Wait wait) throws InterruptedException {
        waiting = wait;
        try {
            if (handle.isClosed()) {
                throw Failure.of(Status.CLOSED.code());
            }
            return waits.await(wait);
        } finally {
            waiting = null;
        }
    }

    /** Takes the next entries from the library; false at the log end. */
    private boolean fill() {
        enter();
        Frame frame = Frame.take();
        try {
            if (end > memory.capacity() / 2 && memory.capacity() < FULL_BYTES) {
                lend(DirectBuffer.allocate(memory.capacity() * 4));
            }
            at = 0;
            end = 0;
            for (;;) {
                if (Klog.DEBUG) {
                    spoil(memory.bytes);
                }
                long out = frame.out(Layout.READ_RESULT_SIZE);
                int status = Library.calls().cursorNextPacked(handle.id, memory.address, memory.capacity(), out, frame.error());
                Reachability.fence(memory.bytes);
                if (status == 0 && frame.outInt(Layout.READ_RESULT_RECORDS) > 0) {
                    end = (int) frame.outLong(Layout.READ_RESULT_BYTES);
                    at = memory.bytes.getShort(Packed.HEAD_LENGTH) & 0xffff;
                    return true;
                }
                if (status == Status.BUFFER_TOO_SMALL.code()) {
                    lend(DirectBuffer.allocate(
                            DirectBuffer.grown(memory.capacity(), frame.outLong(Layout.READ_RESULT_BYTES_NEEDED))));
                } else if (status == 0 || status == Status.END.code()) {
                    position = Math.max(position, frame.outLong(Layout.READ_RESULT_NEXT_OFFSET));
                    if (status != 0) {
                        return false;
                    }
                } else {
                    frame.check(status);
                }
            }
        } finally {
            frame.give();
            busy.set(false);
        }
    }

    /** What was lent before is of no meaning any more; with klog.debug it is seen at once. */
    private static void spoil(ByteBuffer lent) {
        for (int i = 0; i < lent.capacity(); i++) {
            lent.put(i, (byte) 0xdb);
        }
    }

    private void enter() {
        if (!busy.compareAndSet(false, true)) {
            throw new ConcurrentModificationException("a cursor takes one call at a time");
        }
    }

    /**
     * Goes on from another offset. Whether it can be read shows at the next call.
     *
     * @param offset where to go on
     */
    public void seek(long offset) {
        enter();
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().cursorSeek(handle.id, offset, frame.error()));
            at = 0;
            end = 0;
            position = offset;
        } finally {
            frame.give();
            busy.set(false);
        }
    }

    /**
     * Where the next record is looked for.
     *
     * @return an offset; records may be missing from there on
     */
    public long position() {
        return position;
    }

    /**
     * The records from here to the end of the log as it is when it is reached. Always the same view.
     *
     * @return goes on where this cursor is
     */
    @Override
    public Iterator<RecordView> iterator() {
        return new Iterator<RecordView>() {
            private RecordView ahead;

            @Override
            public boolean hasNext() {
                if (ahead == null) {
                    ahead = Cursor.this.next();
                }
                return ahead != null;
            }

            @Override
            public RecordView next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                RecordView given = ahead;
                ahead = null;
                return given;
            }
        };
    }

    /** Ends the cursor, and a wait for its next record. Views that it gave lose their meaning. */
    @Override
    public void close() {
        if (handle.close()) {
            Wait wait = waiting;
            if (wait != null) {
                wait.end(Status.CLOSED.code(), -1);
            }
        }
    }
}
