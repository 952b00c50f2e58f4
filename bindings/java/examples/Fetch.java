import io.klog.Cursor;
import io.klog.KlogLog;
import io.klog.KlogManager;
import io.klog.ReadResult;
import io.klog.RecordBatchBuilder;
import io.klog.RecordView;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;

/** Reads: record by record, to the end and on, from a time on, and as the batches that a broker sends. Usage: Fetch DIR */
public final class Fetch {
    private static final long START = 1_700_000_000_000L;

    private Fetch() {
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void fill(KlogLog log) {
        RecordBatchBuilder batch = new RecordBatchBuilder();
        for (int n = 0; n < 1000; n++) {
            batch.add(START + n, utf8("sensor-" + n % 3), utf8("measured " + n));
            if (batch.count() == 100) {
                log.append(batch);
                batch.clear();
            }
        }
    }

    /** Its argument is a directory. */
    public static void main(String[] args) {
        try (KlogManager manager = KlogManager.open(Paths.get(args[0])); KlogLog log = manager.logOrCreate("measures", 0)) {
            fill(log);

            try (Cursor cursor = log.cursor(997)) {
                // Always the same view: copy() makes a record that stays.
                for (RecordView record : cursor) {
                    System.out.println(record.offset() + ": " + new String(record.keyBytes(), StandardCharsets.UTF_8) + " "
                            + new String(record.valueBytes(), StandardCharsets.UTF_8));
                }
                // The cursor goes on where it is when there is more.
                log.append(utf8("sensor-0"), utf8("measured later"));
                System.out.println("then: " + new String(cursor.next().valueBytes(), StandardCharsets.UTF_8));
            }

            log.offsetForTime(START + 500).ifPresent(found -> System.out.println("half a second in: offset " + found.offset()));

            ByteBuffer buffer = ByteBuffer.allocateDirect(16 << 10);
            int batches = 0;
            for (long offset = 0; offset < log.endOffset();) {
                buffer.clear();
                ReadResult read = log.read(offset, buffer);
                batches += read.batches();
                offset = read.nextOffset();
            }
            System.out.println("all in " + batches + " batches");
        }
    }
}
