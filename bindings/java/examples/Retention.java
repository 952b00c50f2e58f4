import io.klog.KlogConfig;
import io.klog.KlogLog;
import io.klog.KlogManager;
import io.klog.KlogManagerOptions;
import io.klog.LogInfo;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;

/**
 * Retention: what is older than retention.ms goes, segment by segment; first only told, then done. The clock is the program's
 * own, and nothing runs but what it calls. Usage: Retention DIR
 */
public final class Retention {
    private static final long START = 1_700_000_000_000L;
    private static final long SECOND = 1000;

    private Retention() {
    }

    private static void show(KlogLog log, String when) {
        LogInfo info = log.info();
        System.out.println(when + ": offsets " + info.logStartOffset() + ".." + info.logEndOffset() + " in " + info.segments()
                + " segments");
    }

    /** Its argument is a directory. */
    public static void main(String[] args) {
        KlogConfig config = KlogConfig.broker()
                .setTopic("orders", "retention.ms", 10 * SECOND).setTopic("orders", "segment.ms", 2 * SECOND);
        KlogManagerOptions options =
                new KlogManagerOptions(Paths.get(args[0])).createDirs(true).manualClock(START).config(config);
        try (KlogManager manager = KlogManager.open(options); KlogLog log = manager.logOrCreate("orders", 0)) {
            for (int n = 0; n < 9; n++) {
                log.append(START + n * SECOND, null, "order".getBytes(StandardCharsets.UTF_8));
            }
            show(log, "appended");
            // Sets the clock, and runs what is due.
            manager.tick(START + 14 * SECOND);
            System.out.println(manager.retain(log, true).segmentsDeleted() + " segments would go");
            show(log, "nothing has");
            System.out.println(log.retain().segmentsDeleted() + " segments went");
            show(log, "after retention");
        }
    }
}
