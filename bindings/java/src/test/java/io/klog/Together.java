package io.klog;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** The scenario of many threads: writers and followers of one log, while it is rolled and maybe compacted. */
final class Together {
    private static final int NONE = -1;

    private final KlogLog log;
    private final int writers;
    private final int appends;
    private final int roll;
    private final int keys;
    private final int last;
    /** By offset, which record its writer was told to have put there. */
    private final AtomicIntegerArray told;
    private final AtomicBoolean written = new AtomicBoolean();

    private Together(KlogLog log, int writers, int appends, int roll, int keys) {
        this.log = log;
        this.writers = writers;
        this.appends = appends;
        this.roll = roll;
        this.keys = keys;
        last = writers * appends - 1;
        told = new AtomicIntegerArray(last + 1);
        for (int offset = 0; offset <= last; offset++) {
            told.set(offset, NONE);
        }
    }

    /** Gives "ok", or what is wrong. A key of 0 is one for each record. */
    static String run(KlogLog log, int writers, int appends, int followers, int roll, int keys, boolean clean) throws Exception {
        Together all = new Together(log, writers, appends, roll, keys);
        ExecutorService pool = Executors.newCachedThreadPool();
        try {
            List<Future<int[]>> seen = new ArrayList<>();
            for (int n = 0; n < followers; n++) {
                seen.add(pool.submit(all::follow));
            }
            List<Future<Void>> writing = new ArrayList<>();
            for (int n = 0; n < writers; n++) {
                int writer = n;
                writing.add(pool.submit((Callable<Void>) () -> all.write(writer)));
            }
            Future<Void> cleaning = clean ? pool.submit((Callable<Void>) all::clean) : null;
            for (Future<Void> each : writing) {
                each.get();
            }
            all.written.set(true);
            if (clean) {
                cleaning.get();
            }
            for (int offset = 0; offset <= all.last; offset++) {
                check(all.told.get(offset) != NONE, "nobody was told offset " + offset);
            }
            for (Future<int[]> each : seen) {
                all.check(each.get(), clean);
            }
            if (clean) {
                log.clean(new CleanOptions().roll(true));
                all.checkCompacted();
            } else {
                all.check(all.follow(), false);
            }
            return "ok";
        } catch (ExecutionException failed) {
            return failed.getCause().toString();
        } catch (AssertionError wrong) {
            return wrong.getMessage();
        } finally {
            pool.shutdownNow();
        }
    }

    private static void check(boolean condition, String wrong) {
        if (!condition) {
            throw new AssertionError(wrong);
        }
    }

    private String value(int record) {
        return record / appends + "." + record % appends;
    }

    private Void write(int writer) {
        long before = -1;
        for (int n = 0; n < appends; n++) {
            int record = writer * appends + n;
            String key = keys == 0 ? value(record) : "k" + n % keys;
            long offset = log.append(key.getBytes(StandardCharsets.UTF_8), value(record).getBytes(StandardCharsets.UTF_8));
            check(offset > before && offset <= last, "writer " + writer + " was told " + offset + " after " + before);
            check(told.compareAndSet((int) offset, NONE, record), "offset " + offset + " was told twice");
            before = offset;
            if (offset % roll == roll - 1) {
                log.roll();
            }
        }
        return null;
    }

    private Void clean() {
        while (!written.get()) {
            log.clean(new CleanOptions().roll(true));
        }
        return null;
    }

    /** By offset the record that was seen there, up to the last one. */
    private int[] follow() throws InterruptedException {
        int[] seen = new int[last + 1];
        Arrays.fill(seen, NONE);
        try (Cursor cursor = log.cursor(0)) {
            for (long before = -1; before < last;) {
                RecordView record = cursor.next((Duration) null);
                check(record.offset() > before, record.offset() + " was seen after " + before);
                before = record.offset();
                String[] parts = new String(record.valueBytes(), StandardCharsets.UTF_8).split("\\.");
                seen[(int) before] = Integer.parseInt(parts[0]) * appends + Integer.parseInt(parts[1]);
            }
        }
        return seen;
    }

    private void check(int[] seen, boolean clean) {
        for (int offset = 0; offset <= last; offset++) {
            check(seen[offset] == told.get(offset) || clean && seen[offset] == NONE,
                    "record " + seen[offset] + " was seen at " + offset + ", where " + told.get(offset) + " was put");
        }
    }

    private void checkCompacted() throws InterruptedException {
        int[] left = follow();
        check(left, true);
        int[] latest = new int[keys];
        for (int offset = 0; offset <= last; offset++) {
            latest[told.get(offset) % appends % keys] = offset;
        }
        int count = 0;
        for (int record : left) {
            count += record == NONE ? 0 : 1;
        }
        check(count == keys, count + " records are left of " + keys + " keys");
        for (int key = 0; key < keys; key++) {
            check(left[latest[key]] != NONE, "the last record of key " + key + ", at " + latest[key] + ", is gone");
        }
    }
}
