package io.klog;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** One who waits for an end of a log to come somewhere. The waiter's thread, or a close, ends it, once. */
final class Wait {
    final long log;
    final OffsetKind kind;
    final long offset;
    final long minBytes;
    final Deadline deadline;
    /** Where the end is, or why it did not come. */
    final CompletableFuture<Long> future = new CompletableFuture<>();

    Wait(long log, OffsetKind kind, long offset, long minBytes, Deadline deadline) {
        this.log = log;
        this.kind = kind;
        this.offset = offset;
        this.minBytes = minBytes;
        this.deadline = deadline;
    }

    /** Lays the options out in a frame. */
    long in(Frame frame, long timeoutMs) {
        long address = frame.in(Layout.WAIT_OPTIONS_SIZE);
        frame.inInt(Layout.WAIT_OPTIONS_KIND, kind.code());
        frame.inLong(Layout.WAIT_OPTIONS_OFFSET, offset);
        frame.inLong(Layout.WAIT_OPTIONS_MIN_BYTES, minBytes);
        frame.inLong(Layout.WAIT_OPTIONS_TIMEOUT_MS, timeoutMs);
        return address;
    }

    /** Looks whether it has come already; false if not, and throws if it cannot come. */
    boolean look() {
        Frame frame = Frame.take();
        try {
            int status = Library.calls().wait(log, in(frame, 0), frame.number(), frame.error());
            if (status == Status.TIMED_OUT.code()) {
                return false;
            }
            frame.check(status);
            future.complete(frame.numberValue());
            return true;
        } finally {
            frame.give();
        }
    }

    void end(int status, long at) {
        if (status == 0) {
            future.complete(at);
        } else if (!future.isDone()) {
            future.completeExceptionally(Failure.of(status));
        }
    }

    /** Parks until it is ended: true if the end came, false if the time passed. */
    boolean park() throws InterruptedException {
        try {
            future.get();
            return true;
        } catch (ExecutionException ended) {
            KlogException why = (KlogException) ended.getCause();
            if (why.status() == Status.TIMED_OUT) {
                return false;
            }
            if (why.status() != Status.CLOSED && look()) {
                return true;
            }
            // Made here, so that it tells where the waiting was.
            throw Failure.of(why.status().code());
        }
    }

    long reached() {
        return future.join();
    }
}
