package io.klog.interop;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.server.util.Scheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs what Kafka wants done at once before the call returns, and never runs what it wants done later or periodically.
 * So a command's effects are complete when its answer comes, and nothing happens between commands.
 */
final class InlineScheduler implements Scheduler {
    private static final Logger LOG = LoggerFactory.getLogger(InlineScheduler.class);

    @Override
    public void startup() { }

    @Override
    public void shutdown() { }

    @Override
    public void resizeThreadPool(int size) { }

    @Override
    public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
        if (delayMs <= 0 && periodMs <= 0) {
            try {
                task.run();
            } catch (RuntimeException e) {
                // Kafka's own scheduler logs it too and goes on.
                LOG.error("Uncaught exception in scheduled task '{}'", name, e);
            }
        }
        return new Finished();
    }

    /** Kafka keeps the handle of a periodic task to cancel it; here there is nothing left to cancel. */
    private static final class Finished implements ScheduledFuture<Object> {
        private final CompletableFuture<Object> done = CompletableFuture.completedFuture(null);

        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(0, other.getDelay(TimeUnit.NANOSECONDS));
        }

        @Override
        public boolean cancel(boolean mayInterrupt) {
            return false;
        }

        @Override
        public boolean isCancelled() {
            return false;
        }

        @Override
        public boolean isDone() {
            return true;
        }

        @Override
        public Object get() throws InterruptedException, ExecutionException {
            return done.get();
        }

        @Override
        public Object get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
            return done.get(timeout, unit);
        }
    }
}
