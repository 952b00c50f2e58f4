package io.klog;

import io.klog.errors.CleaningAbortedException;
import io.klog.errors.KlogBusyException;
import io.klog.errors.KlogClosedException;
import io.klog.errors.KlogTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** The scenario of a close: threads make every call that takes nothing away, until their manager is closed under them. */
final class CloseRace {
    private static final int APPENDS_MAX = 100;

    private final KlogManager manager;
    private final KlogLog log;
    private final KlogLog compacted;
    private final Appender appender;
    private final EventStream events;
    private final CountDownLatch appended;
    /** By offset. */
    private final Map<Long, String> acknowledged = new ConcurrentHashMap<>();

    private CloseRace(Path dir, int appends) {
        manager = KlogManager.open(dir);
        log = manager.logOrCreate("race", 0);
        compacted = manager.log(new TopicPartition("compacted", 0),
                new KlogLogOptions().create(true).config(KlogConfig.topic().set("cleanup.policy", "compact")));
        appender = log.appender(null);
        events = manager.events(EnumSet.allOf(EventType.class), 16);
        appended = new CountDownLatch(appends);
    }

    /** Gives "ok", or what is wrong. */
    static String run(Path dir, int threads, int rounds) throws Exception {
        long seed = Long.getLong("klog.seed", System.nanoTime());
        ExecutorService pool = Executors.newCachedThreadPool();
        try {
            for (int round = 0; round < rounds; round++) {
                Random random = new Random(seed + round);
                CloseRace race = new CloseRace(dir, 1 + random.nextInt(APPENDS_MAX));
                List<Future<?>> all = new ArrayList<>();
                for (int thread = 0; thread < threads; thread++) {
                    boolean waits = thread > 0;
                    String name = round + "." + thread;
                    long own = random.nextLong();
                    all.add(pool.submit(() -> race.work(name, new Random(own), waits)));
                }
                race.appended.await();
                race.manager.close();
                for (Future<?> each : all) {
                    each.get(60, TimeUnit.SECONDS);
                }
                race.check(dir);
            }
            return "ok";
        } catch (ExecutionException failed) {
            failed.getCause().printStackTrace();
            return failed.getCause() + ", -Dklog.seed=" + seed;
        } catch (AssertionError wrong) {
            return wrong.getMessage() + ", -Dklog.seed=" + seed;
        } finally {
            pool.shutdownNow();
        }
    }

    private void check(Path dir) {
        long first = acknowledged.keySet().stream().mapToLong(Long::longValue).min().orElse(0);
        try (KlogManager again = KlogManager.open(dir);
                KlogLog same = again.log(new TopicPartition("race", 0));
                Cursor cursor = same.cursor(first)) {
            if (again.info().segmentsRecovered() != 0) {
                throw new AssertionError("the close left something to recover");
            }
            cursor.forEach(record -> {
                String said = acknowledged.remove(record.offset());
                if (said != null && !said.equals(new String(record.valueBytes(), StandardCharsets.UTF_8))) {
                    throw new AssertionError("another record is at " + record.offset());
                }
            });
        }
        if (!acknowledged.isEmpty()) {
            throw new AssertionError("acknowledged and gone: " + acknowledged);
        }
    }

    private Void work(String name, Random random, boolean waits) throws Exception {
        try {
            for (int n = 0;; n++) {
                try {
                    call(name + "." + n, random, waits);
                } catch (KlogBusyException | CleaningAbortedException | KlogTimeoutException asWithoutAClose) {
                    // Two threads compact one log, one of them pauses it, a wait did not come true.
                } catch (ExecutionException told) {
                    throw told.getCause() instanceof KlogException ? (KlogException) told.getCause() : told;
                }
            }
        } catch (KlogClosedException closed) {
            return null;
        }
    }

    private void acknowledge(long offset, String value) {
        acknowledged.put(offset, value);
        appended.countDown();
    }

    private RecordBatchBuilder batch(byte[] value) {
        return new RecordBatchBuilder().add(null, value).add(value, value);
    }

    private void call(String name, Random random, boolean waits) throws Exception {
        byte[] value = name.getBytes(StandardCharsets.UTF_8);
        // The last ones cost a sync or a segment.
        int kind = random.nextInt(22);
        switch (kind < 21 ? kind : kind + random.nextInt(5)) {
            case 0:
                acknowledge(log.append(null, value), name);
                break;
            case 1:
                acknowledge(log.append(batch(value)).lastOffset(), name);
                break;
            case 2:
                for (AppendOutcome outcome : manager.appendAll(List.of(new AppendItem(log, batch(value))), null)) {
                    if (outcome.failure() != null) {
                        throw outcome.failure();
                    }
                    acknowledge(outcome.firstOffset(), name);
                }
                break;
            case 3:
                acknowledge(appender.append(batch(value)).get().lastOffset(), name);
                break;
            case 4:
                acknowledge(appender.await(appender.add(batch(value)), null).firstOffset(), name);
                break;
            case 5:
                appender.flush();
                break;
            case 6:
                log.read(log.info().logStartOffset(), ByteBuffer.allocateDirect(1 << 12));
                break;
            case 7:
                try (Cursor cursor = log.cursor(Math.max(0, log.endOffset() - 5))) {
                    cursor.next();
                    cursor.seek(0);
                    cursor.next(Duration.ofMillis(1));
                }
                break;
            case 8:
                compacted.append(("k" + random.nextInt(5)).getBytes(StandardCharsets.UTF_8), value);
                break;
            case 9:
                compacted.pauseCleaning();
                compacted.resumeCleaning();
                compacted.cleanProgress();
                break;
            case 10:
                manager.logs();
                manager.report();
                manager.dirs();
                break;
            case 11:
                manager.metricsText();
                manager.metrics();
                break;
            case 12:
                events.poll();
                break;
            case 13:
                manager.logOrCreate("race", 0).close();
                break;
            case 14:
                log.offsetForTime(random.nextBoolean() ? KlogLog.LATEST : 0);
                log.endOffsetForEpoch(0);
                break;
            case 15:
                log.producers();
                log.abortedTransactions(0, 10);
                break;
            case 16:
                manager.retain(log, true);
                break;
            case 17:
                log.await(OffsetKind.LOG_END, Math.max(0, log.endOffset() - 1), Duration.ofMillis(1));
                log.whenReached(OffsetKind.DURABLE, log.endOffset());
                break;
            case 18:
                if (waits && random.nextInt(20) == 0) {
                    log.await(OffsetKind.LOG_END, Long.MAX_VALUE - 1, null);
                }
                break;
            case 19:
                if (waits && random.nextInt(20) == 0) {
                    log.whenReached(OffsetKind.HIGH_WATERMARK, Long.MAX_VALUE - 1).get();
                }
                break;
            case 20:
                manager.tick();
                break;
            case 21:
                if (random.nextInt(4) == 0) {
                    compacted.clean(new CleanOptions().roll(true));
                }
                break;
            case 22:
                log.flush();
                break;
            case 23:
                if (random.nextInt(10) == 0) {
                    log.roll();
                }
                break;
            case 24:
                manager.checkpoint(EnumSet.allOf(CheckpointType.class));
                break;
            default:
                log.info();
                manager.info();
                manager.flushAll();
                break;
        }
    }
}
