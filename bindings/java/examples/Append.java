import io.klog.AppendOptions;
import io.klog.AppendResult;
import io.klog.Compression;
import io.klog.Header;
import io.klog.KlogLog;
import io.klog.KlogManager;
import io.klog.RecordBatchBuilder;
import io.klog.errors.LogEndMismatchException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.List;

/**
 * Appends: one record, a batch of records with headers, and a batch that is only appended if nobody else appended meanwhile.
 * Prints where they went. Usage: Append DIR
 */
public final class Append {
    private Append() {
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Its argument is a directory. */
    public static void main(String[] args) {
        try (KlogManager manager = KlogManager.open(Paths.get(args[0])); KlogLog log = manager.logOrCreate("orders", 0)) {
            // The shortest way: key and value, the time is now. A null key is no key, a null value a tombstone.
            System.out.println("one record at " + log.append(utf8("order-1"), utf8("paid")));

            // Many records become one batch: all of them are appended, or none. clear() keeps the memory for the next one.
            RecordBatchBuilder batch = new RecordBatchBuilder();
            List<Header> headers = Collections.singletonList(new Header("source", utf8("sample")));
            for (int n = 2; n < 5; n++) {
                batch.add(RecordBatchBuilder.TIMESTAMP_NOW, utf8("order-" + n), utf8("new"), headers);
            }
            AppendOptions zstd = new AppendOptions().compression(Compression.ZSTD);
            AppendResult result = log.append(batch, zstd);
            System.out.println(result.records() + " records at " + result.firstOffset() + ".." + result.lastOffset());

            // Compare and append: refused if the log does not end where we think it does, and nothing changes.
            batch.clear().add(utf8("order-2"), utf8("new"));
            zstd.expectedLogEnd(result.lastOffset());
            try {
                log.append(batch, zstd);
            } catch (LogEndMismatchException e) {
                System.out.println("not appended: the log ends at " + e.offset());
                zstd.expectedLogEnd(e.offset());
            }
            System.out.println("appended at " + log.append(batch, zstd).firstOffset());

            // From here on a power cut takes none of them.
            log.flush();
        }
    }
}
