package io.klog.interop;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** One pass of Kafka's cleaner over the log t-0. */
final class CleanSpeed {
    /** Far behind every record, so that no delay holds anything back. */
    private static final long NOW = 1_800_000_000_000L;
    private static final double LOAD_FACTOR = 0.9;

    private CleanSpeed() { }

    static String run(Arguments arguments) throws Exception {
        Path dir = arguments.path("DIR").resolve("t-0");
        int mapBytes = arguments.int32("MAP-BYTES");
        LogConfig config = new LogConfig(Map.of("cleanup.policy", "compact", "segment.bytes", arguments.text("SEGMENT-BYTES")));
        arguments.end();
        ManualTime time = new ManualTime(NOW);
        UnifiedLog log = Logs.open(dir, config, 0, Long.MAX_VALUE, true, time);
        try {
            log.updateHighWatermark(log.logEndOffset());
            long began = Speed.worked();
            String cleaned = CleanerRun.run(log, time, new CleanerRun.Plan(Optional.empty(), mapBytes, LOAD_FACTOR));
            long ended = Speed.worked();
            return "ns=" + (ended - began) + " " + cleaned.substring(cleaned.indexOf('\n') + 1);
        } finally {
            Logs.drop(log);
        }
    }
}
