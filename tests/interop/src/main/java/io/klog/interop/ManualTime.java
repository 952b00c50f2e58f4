package io.klog.interop;

import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.utils.Time;

/** A clock that stands still until told otherwise: runs repeat, and no producer expires by surprise. */
final class ManualTime implements Time {
    private volatile long nowMs;

    ManualTime(long nowMs) {
        this.nowMs = nowMs;
    }

    void set(long nowMs) {
        this.nowMs = nowMs;
    }

    @Override
    public long milliseconds() {
        return nowMs;
    }

    @Override
    public long nanoseconds() {
        return TimeUnit.MILLISECONDS.toNanos(nowMs);
    }

    @Override
    public void sleep(long ms) {
        nowMs += ms;
    }
}
