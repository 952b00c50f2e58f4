package io.klog.interop;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;

/** One pass of Kafka's cleaner over an open log, with the offsets that its manager would choose. */
final class CleanerRun {
    private static final int IO_BUFFER_BYTES = 65_536;
    private static final int MAX_IO_BUFFER_BYTES = 1_048_576;

    private CleanerRun() { }

    /** What a pass is to do; the checkpoint is absent for a log that was never cleaned. */
    record Plan(Optional<Long> checkpoint, int mapBytes, double loadFactor) { }

    static String run(UnifiedLog log, Time time, Plan plan) throws Exception {
        long now = time.milliseconds();
        // The manager's own choice, which it keeps to itself.
        Method choose = LogCleanerManager.class.getDeclaredMethod("cleanableOffsets", UnifiedLog.class, Optional.class,
            long.class);
        choose.setAccessible(true);
        Object offsets = choose.invoke(null, log, plan.checkpoint(), now);
        LogToClean dirty = new LogToClean(log, number(offsets, "firstDirtyOffset"),
            number(offsets, "firstUncleanableDirtyOffset"), false);
        String chosen = "first_dirty=" + dirty.firstDirtyOffset() + " first_uncleanable="
            + dirty.firstUncleanableOffset() + " clean_bytes=" + dirty.cleanBytes() + " cleanable_bytes="
            + dirty.cleanableBytes() + "\n";
        if (dirty.cleanableBytes() == 0) return chosen;
        SkimpyOffsetMap map = new SkimpyOffsetMap(plan.mapBytes());
        Throttler throttler = new Throttler(Double.MAX_VALUE, Long.MAX_VALUE, "throttler", "entries", Time.SYSTEM);
        Cleaner cleaner = new Cleaner(0, map, IO_BUFFER_BYTES, MAX_IO_BUFFER_BYTES, plan.loadFactor(), throttler, time,
            partition -> { });
        Map.Entry<Long, CleanerStats> cleaned = cleaner.clean(dirty);
        CleanerStats stats = cleaned.getValue();
        return chosen + "cleaned end=" + cleaned.getKey() + " read=" + stats.messagesRead() + " written="
            + stats.messagesWritten() + " bytes_read=" + stats.bytesRead() + " bytes_written=" + stats.bytesWritten()
            + " invalid=" + stats.invalidMessagesRead() + "\n";
    }

    private static long number(Object record, String name) throws ReflectiveOperationException {
        Method accessor = record.getClass().getMethod(name);
        accessor.setAccessible(true);
        return (long) accessor.invoke(record);
    }
}
