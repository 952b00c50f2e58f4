import io.klog.Cursor;
import io.klog.KlogLog;
import io.klog.KlogManager;
import io.klog.KlogManagerOptions;
import io.klog.ReadResult;
import io.klog.RecordView;
import io.klog.TopicPartition;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.time.Duration;

/**
 * Fetches whole batches, as a broker sends them, then tails the log while somebody else appends to it: the directory is opened
 * for reading only, so its owner may be a live broker. Usage: Fetch DIR COUNT    (ends after COUNT records)
 */
public final class Fetch {
    private Fetch() {
    }

    /** Reads from an offset to the end, in batches: what a fetch answers. */
    private static void fetch(KlogLog log, long from) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(64 << 10);
        long next = from;
        long bytes = 0;
        int batches = 0;
        ReadResult result;
        do {
            buffer.clear();
            result = log.read(next, buffer);
            bytes += result.bytes();
            batches += result.batches();
            next = result.nextOffset();
        } while (result.bytes() > 0);
        System.out.println("fetched " + batches + " batches, " + (bytes > 0 ? "some" : "no") + " bytes, up to " + next);
    }

    private static String text(byte[] utf8) {
        return utf8 == null ? "" : new String(utf8, StandardCharsets.UTF_8);
    }

    /** Its arguments are a directory, and how many records to wait for. */
    public static void main(String[] args) throws InterruptedException {
        KlogManagerOptions options = new KlogManagerOptions(Paths.get(args[0])).readOnly(true);
        try (KlogManager manager = KlogManager.open(options); KlogLog log = manager.log(new TopicPartition("orders", 0))) {
            fetch(log, 0);

            // A cursor gives always the same view, copy() makes a record that stays. At the end it waits as long as it is told to.
            try (Cursor cursor = log.cursor(0)) {
                for (int left = Integer.parseInt(args[1]); left > 0;) {
                    RecordView record = cursor.next(Duration.ofMillis(10));
                    if (record == null) {
                        // Takes in what another process did; with a log of its own a program needs none.
                        manager.refresh();
                        continue;
                    }
                    System.out.println(record.offset() + " " + text(record.keyBytes()) + "=" + text(record.valueBytes()));
                    left--;
                }
            }
        }
    }
}
