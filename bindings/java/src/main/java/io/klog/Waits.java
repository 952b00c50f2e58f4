package io.klog;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * All who wait for logs of one manager, however many, and the one thread that tells them. It is begun by the first of them and
 * ends with the manager, which ends all waits.
 *
 * <p>The library cannot disarm, so nothing is armed for longer than {@link #armedMs}: who is still there then is armed again,
 * and of those who gave up nothing is left.
 */
final class Waits {
    private static final int READY_MAX = 256;

    /** How long at most the library is left to remember one who gave up. */
    static volatile long armedMs = 60_000;

    private final long manager;
    private final Map<Long, Wait> waiting = new ConcurrentHashMap<>();
    private final AtomicLong keys = new AtomicLong();
    /** Of the thread, once it is begun. */
    private long waiter;
    private volatile Thread thread;
    private volatile boolean over;

    Waits(long manager) {
        this.manager = manager;
    }

    /** Waits until it has come, unless it has: true if so, false if the time passed. */
    boolean await(Wait wait) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (wait.look()) {
            return true;
        }
        if (wait.deadline.passed()) {
            return false;
        }
        refuseOwnThread();
        long key = begin(wait);
        try {
            return wait.park();
        } finally {
            waiting.remove(key);
        }
    }

    /** Has the wait ended by the thread. */
    void tell(Wait wait) {
        if (!wait.look()) {
            long key = begin(wait);
            wait.future.whenComplete((reached, failure) -> waiting.remove(key));
        }
    }

    /** It would wait for itself. */
    private void refuseOwnThread() {
        if (Thread.currentThread() == thread) {
            throw new IllegalStateException("what follows a future of whenReached may not wait for klog; use its Async methods");
        }
    }

    private long begin(Wait wait) {
        long to = waiter();
        long key = keys.incrementAndGet();
        waiting.put(key, wait);
        int status = 0;
        Frame frame = Frame.take();
        try {
            status = arm(frame, to, key, wait);
            frame.check(status);
        } finally {
            frame.give();
            if (status != 0) {
                waiting.remove(key);
            }
        }
        // Else it came too late for the thread to end it.
        if (over && waiting.remove(key) != null) {
            wait.end(Status.CLOSED.code(), -1);
        }
        return key;
    }

    private static int arm(Frame frame, long waiter, long key, Wait wait) {
        long in = wait.in(frame, wait.deadline.leftMs(armedMs));
        return Library.calls().waiterArm(waiter, wait.log, in, key, frame.error());
    }

    private synchronized long waiter() {
        if (thread == null) {
            waiter = Call.number((calls, frame) -> calls.waiterOpen(manager, frame.number(), 0, frame.error()));
            thread = new Thread(this::run, "klog-waiter");
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            thread.start();
        }
        return waiter;
    }

    private void run() {
        long from = waiter();
        int status = Status.CLOSED.code();
        try {
            status = poll(from);
        } finally {
            over = true;
            Library.calls().waiterClose(from);
            for (Long key : waiting.keySet()) {
                Wait left = waiting.remove(key);
                if (left != null) {
                    left.end(status, -1);
                }
            }
        }
    }

    /** Tells who is ready, until the manager is closed. */
    private int poll(long from) {
        DirectBuffer ready = DirectBuffer.allocate(READY_MAX * Layout.READY_SIZE);
        Frame frame = Frame.take();
        try {
            for (;;) {
                int status = Library.calls().waiterPoll(from, ready.address, READY_MAX, frame.number(), -1, frame.error());
                if (status != 0) {
                    return status;
                }
                for (int i = 0; i < frame.numberValue(); i++) {
                    tell(from, ready.bytes, i * Layout.READY_SIZE);
                }
            }
        } finally {
            frame.give();
        }
    }

    private void tell(long from, ByteBuffer ready, int at) {
        long key = ready.getLong(at + Layout.READY_USER_DATA);
        Wait wait = waiting.get(key);
        if (wait == null || wait.future.isDone()) {
            return;
        }
        int status = ready.getInt(at + Layout.READY_STATUS);
        if (status == Status.TIMED_OUT.code() && !wait.deadline.passed()) {
            Frame frame = Frame.take();
            try {
                status = arm(frame, from, key, wait);
            } finally {
                frame.give();
            }
            if (status == 0) {
                return;
            }
        }
        waiting.remove(key);
        wait.end(status, ready.getLong(at + Layout.READY_OFFSET));
    }
}
