package io.klog;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Gathers the small appends of many threads to one log, and appends them in few batches; durable ones are synced together.
 * What is added is in the log in the order of its tickets.
 *
 * <p>Who waits for a ticket appends what is there, for all others too. With {@link #append} that is a thread of this appender,
 * which is begun by the first of these calls. Otherwise what nobody waits for stays where it is until the queue is full, a
 * {@link #flush()} or the close, unless the manager works in the background.
 *
 * <p>For any thread. Closing its manager closes it before.
 */
public final class Appender implements AutoCloseable {
    private final KlogManager manager;
    private final long id;
    private final Tickets tickets;
    /** Held while a future is made, so that a close knows of all of them. */
    private final ReadWriteLock closing = new ReentrantReadWriteLock();
    private boolean closed;

    Appender(KlogManager manager, long id) {
        this.manager = manager;
        this.id = id;
        this.tickets = new Tickets(id);
    }

    /**
     * Adds records, which are copied, to be appended together and in this order; waits while the queue is full.
     *
     * @param batch the records; it may be cleared and filled again at once
     * @return their ticket, for {@link #await}; 0 for none
     */
    public long add(RecordBatchBuilder batch) {
        return add(batch, null);
    }

    /**
     * Adds records, which are copied, to be appended together and in this order.
     *
     * @param batch the records; it may be cleared and filled again at once
     * @param wait how long to wait for room in the queue; null is no limit
     * @return their ticket, for {@link #await}; 0 for none
     * @throws io.klog.errors.KlogTimeoutException if there was no room
     */
    public long add(RecordBatchBuilder batch, Duration wait) {
        DirectBuffer packed = batch.packed();
        Frame frame = Frame.take();
        try {
            int status = Library.calls().appenderAddPacked(
                    id, packed.address, batch.sizeInBytes(), Deadline.in(wait).leftMs(), frame.number(), frame.error());
            Reachability.fence(packed.bytes);
            frame.check(status);
            return frame.numberValue();
        } finally {
            frame.give();
        }
    }

    /**
     * Waits until the records of a ticket are appended, and durable if that was asked for. It appends them itself, unless
     * another thread does already; that is not interrupted.
     *
     * @param ticket of one of the last 16000 adds
     * @param timeout how long to wait for another thread; null is no limit
     * @return the offsets that the records got
     * @throws io.klog.errors.KlogTimeoutException if they are still on their way
     */
    public AppendResult await(long ticket, Duration timeout) {
        return Tickets.await(id, ticket, Deadline.in(timeout).leftMs());
    }

    /**
     * Adds records as {@link #add(RecordBatchBuilder)}, and tells when they are appended, and durable if that was asked for.
     * What follows in the same thread holds up this appender; the future's Async methods are for what takes long.
     *
     * @param batch the records; it may be cleared and filled again at once
     * @return completed with the offsets that the records got, or with why they were refused
     */
    public CompletableFuture<AppendResult> append(RecordBatchBuilder batch) {
        tickets.reserve();
        CompletableFuture<AppendResult> future = null;
        closing.readLock().lock();
        try {
            if (closed) {
                throw Failure.of(Status.CLOSED.code());
            }
            future = tickets.tell(add(batch));
            return future;
        } finally {
            closing.readLock().unlock();
            if (future == null) {
                tickets.release();
            }
        }
    }

    /** Waits until everything is appended that was added before; throws the first failure since the last flush. */
    public void flush() {
        flush(null);
    }

    /**
     * Waits until everything is appended that was added before; throws the first failure since the last flush, also that of
     * records that nobody waited for.
     *
     * @param timeout how long; null is no limit
     */
    public void flush(Duration timeout) {
        Call.run((calls, frame) -> calls.appenderFlush(id, Deadline.in(timeout).leftMs(), frame.error()));
    }

    /**
     * Appends what was added, and ends the appender. Throws what {@link #flush()} would; the appender is closed then too. The
     * second time it does nothing.
     */
    @Override
    public void close() {
        if (shut()) {
            tickets.finish();
            end(0);
        }
    }

    /** Ends the appender and drops what is not being appended yet: its futures and tickets tell that it is closed. */
    public void discard() {
        if (shut()) {
            try {
                end(Layout.CLOSE_DISCARD);
            } finally {
                tickets.finish();
            }
        }
    }

    private void end(int flags) {
        manager.forget(this);
        Call.run((calls, frame) -> calls.appenderClose(id, flags, frame.error()));
    }

    private boolean shut() {
        closing.writeLock().lock();
        try {
            boolean first = !closed;
            closed = true;
            return first;
        } finally {
            closing.writeLock().unlock();
        }
    }
}
