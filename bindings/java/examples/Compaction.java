import io.klog.CancelToken;
import io.klog.CleanOptions;
import io.klog.CleanResult;
import io.klog.Cursor;
import io.klog.KlogConfig;
import io.klog.KlogLog;
import io.klog.KlogLogOptions;
import io.klog.KlogManager;
import io.klog.RecordBatchBuilder;
import io.klog.RecordView;
import io.klog.TopicPartition;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;

/** Compaction keeps the last value of each key: a log as a table. Usage: Compaction DIR */
public final class Compaction {
    private Compaction() {
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Reads the log as a table. */
    private static void tell(KlogLog log, String what) {
        int records = 0;
        Map<String, String> table = new HashMap<>();
        try (Cursor cursor = log.cursor(log.info().logStartOffset())) {
            for (RecordView record : cursor) {
                records++;
                String key = new String(record.keyBytes(), StandardCharsets.UTF_8);
                if (record.hasValue()) {
                    table.put(key, new String(record.valueBytes(), StandardCharsets.UTF_8));
                } else {
                    table.remove(key);
                }
            }
        }
        System.out.println(what + ": " + records + " records, " + table.size() + " articles, article-08 costs "
                + table.get("article-08"));
    }

    /** Its argument is a directory. */
    public static void main(String[] args) {
        KlogConfig compact = KlogConfig.topic().set("cleanup.policy", "compact");
        try (KlogManager manager = KlogManager.open(Paths.get(args[0]));
                KlogLog log = manager.log(new TopicPartition("prices", 0), new KlogLogOptions().create(true).config(compact));
                CancelToken cancel = new CancelToken()) {
            RecordBatchBuilder batch = new RecordBatchBuilder();
            for (int day = 0; day < 100; day++) {
                batch.clear();
                for (int article = 0; article < 50; article++) {
                    batch.add(utf8(String.format("article-%02d", article)), utf8(String.format("%d.%02d", 10 + article, day)));
                }
                log.append(batch);
            }
            // A record without a value is a tombstone: it deletes its key, and goes itself after delete.retention.ms.
            log.append(utf8("article-07"), null);
            tell(log, "appended");

            // What would go, without a change. Roll begins a new segment, since the active one is never compacted.
            CleanResult counted = log.clean(new CleanOptions().roll(true).dryRun(true));
            System.out.println(counted.recordsRead() - counted.recordsKept() + " records would go");

            // A pass that takes long ends soon after cancel.cancel() in another thread; log.cleanProgress() tells how far it is.
            CleanResult cleaned = log.clean(new CleanOptions().roll(true).cancel(cancel));
            System.out.println("read " + cleaned.recordsRead() + " records, kept " + cleaned.recordsKept() + ", superseded "
                    + cleaned.droppedSuperseded());
            tell(log, "compacted");
        }
    }
}
