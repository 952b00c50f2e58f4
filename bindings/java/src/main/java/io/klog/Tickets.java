package io.klog;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;

/** The tickets of an appender that somebody wants to be told of, and the thread that waits for them, in their order. */
final class Tickets implements Runnable {
    /** Of those that are not told yet: the library keeps the results of the last 16000 adds. */
    private static final int UNTOLD_MAX = 8000;

    private final long appender;
    private final Places untold = new Places();
    private final BlockingQueue<Ticket> queue = new LinkedBlockingQueue<>();
    private final CountDownLatch done = new CountDownLatch(1);
    private Thread thread;

    /** Places among those that are not told yet. */
    private static final class Places extends Semaphore {
        private static final long serialVersionUID = 1L;

        Places() {
            super(UNTOLD_MAX);
        }

        void takeAnyway() {
            reducePermits(1);
        }
    }

    /** A ticket, and who is told of it; without a future it is the last one. */
    private static final class Ticket {
        final long number;
        final CompletableFuture<AppendResult> future;

        Ticket(long number, CompletableFuture<AppendResult> future) {
            this.number = number;
            this.future = future;
        }
    }

    Tickets(long appender) {
        this.appender = appender;
    }

    static AppendResult await(long appender, long ticket, long timeoutMs) {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().appenderWait(
                    appender, ticket, timeoutMs, 0, frame.out(Layout.APPEND_RESULT_SIZE), frame.error()));
            return new AppendResult(frame);
        } finally {
            frame.give();
        }
    }

    /** Waits for a place among those that are not told yet. */
    void reserve() {
        if (Thread.currentThread() != thread) {
            untold.acquireUninterruptibly();
        } else {
            // It would wait for itself.
            untold.takeAnyway();
        }
    }

    void release() {
        untold.release();
    }

    CompletableFuture<AppendResult> tell(long ticket) {
        CompletableFuture<AppendResult> future = new CompletableFuture<>();
        begin();
        queue.add(new Ticket(ticket, future));
        return future;
    }

    private synchronized void begin() {
        if (thread == null) {
            thread = new Thread(this, "klog-appender");
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            thread.start();
        }
    }

    /** Comes back when everybody was told. Nothing may be added any more. */
    void finish() {
        synchronized (this) {
            if (thread == null) {
                return;
            }
        }
        queue.add(new Ticket(0, null));
        if (Thread.currentThread() == thread) {
            run();
            return;
        }
        boolean interrupted = false;
        for (;;) {
            try {
                done.await();
                break;
            } catch (InterruptedException later) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void run() {
        while (done.getCount() > 0) {
            Ticket next;
            try {
                next = queue.take();
            } catch (InterruptedException notOurs) {
                continue;
            }
            if (next.future == null) {
                done.countDown();
                return;
            }
            release();
            try {
                next.future.complete(next.number == 0 ? AppendResult.NOTHING : await(appender, next.number, -1));
            } catch (KlogException failure) {
                next.future.completeExceptionally(failure);
            }
        }
    }
}
