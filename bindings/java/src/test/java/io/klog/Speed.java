package io.klog;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * What a record costs over the backend that is loaded: the best of some rounds, in nanoseconds. Not a test: run it beside the
 * same in C. Usage: Speed DIR
 */
final class Speed {
    private static final int RECORDS = 1_000_000;
    private static final int BATCH = 1000;
    private static final int ROUNDS = 7;

    private Speed() {
    }

    /** A piece of work to be measured, which says how many units it did. */
    private interface Work {
        long run();
    }

    private static void measure(String what, Work work) {
        double best = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long begun = System.nanoTime();
            long units = work.run();
            best = Math.min(best, (double) (System.nanoTime() - begun) / units);
        }
        System.out.printf("%s: %s %.1f ns%n", Klog.backend(), what, best);
    }

    /** Its argument is an empty directory. */
    public static void main(String[] args) {
        Path dir = Paths.get(args[0]);
        byte[] key = new byte[12];
        byte[] value = new byte[100];
        try (KlogManager manager = KlogManager.open(dir)) {
            KlogLog log = manager.logOrCreate("speed", 0);
            RecordBatchBuilder batch = new RecordBatchBuilder();
            measure("append, a record of 1,000", () -> {
                log.truncateFully(0);
                for (int n = 0; n < RECORDS; n += BATCH) {
                    batch.clear();
                    for (int i = 0; i < BATCH; i++) {
                        batch.add(n, key, value);
                    }
                    log.append(batch);
                }
                return RECORDS;
            });
            measure("scan, a record", () -> {
                long sum = 0;
                try (Cursor cursor = log.cursor(0)) {
                    for (RecordView r = cursor.next(); r != null; r = cursor.next()) {
                        ByteBuffer v = r.value();
                        sum += r.offset() + r.key().remaining() + v.get(v.position());
                    }
                }
                return sum > 0 ? RECORDS : 1;
            });
            measure("end offset, a call", () -> {
                long sum = 0;
                for (int n = 0; n < 5_000_000; n++) {
                    sum += log.endOffset();
                }
                return sum > 0 ? 5_000_000 : 1;
            });
            KlogLog single = manager.logOrCreate("single", 0);
            measure("append one, a call", () -> {
                for (int n = 0; n < 50_000; n++) {
                    single.append(n, key, value);
                }
                return 50_000;
            });
        }
    }
}
