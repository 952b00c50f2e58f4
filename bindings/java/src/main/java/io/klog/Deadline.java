package io.klog;

import java.time.Duration;

/** A moment of the monotonic clock up to which something is waited for, or none. */
final class Deadline {
    private final boolean limited;
    private final long nanos;

    private Deadline(boolean limited, long nanos) {
        this.limited = limited;
        this.nanos = nanos;
    }

    /** From now on; null is no limit. */
    static Deadline in(Duration duration) {
        if (duration == null) {
            return new Deadline(false, 0);
        }
        try {
            return new Deadline(true, System.nanoTime() + Math.max(0, duration.toNanos()));
        } catch (ArithmeticException centuries) {
            return new Deadline(duration.isNegative(), System.nanoTime());
        }
    }

    boolean passed() {
        return limited && System.nanoTime() - nanos >= 0;
    }

    /** What is left, rounded up, but no more than so much. */
    long leftMs(long atMost) {
        if (!limited) {
            return atMost;
        }
        long left = nanos - System.nanoTime();
        return left <= 0 ? 0 : Math.min(atMost, (left + 999_999) / 1_000_000);
    }

    /** What is left as the library takes it: -1 is no limit. */
    long leftMs() {
        return limited ? leftMs(Long.MAX_VALUE) : -1;
    }
}
