package io.klog.peers;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.MappedBytes;
import net.openhft.chronicle.bytes.SyncMode;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import net.openhft.chronicle.queue.impl.single.SingleChronicleQueueBuilder;

/** Does the work of benches/peers with Chronicle Queue: a line asks for a piece of work, the answer is how long it took. */
public final class Chronicle {
    private static final int EACH = 100;
    /** Of each hundredth record, which is where random reads begin: an index is no number that can be computed. */
    private static long[] indexes = new long[0];

    private Chronicle() { }

    /** Serves until standard input ends. */
    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split("\t");
            try {
                answers.println("ns " + work(fields[0], Path.of(fields[1]), Path.of(fields[2]), Long.parseLong(fields[3]),
                    Integer.parseInt(fields[4])));
            } catch (Exception | LinkageError e) {
                answers.println("error " + e.toString().replace('\n', ' '));
            }
        }
    }

    private static long work(String name, Path dir, Path file, long size, int threads) throws Exception {
        Bytes<?>[] records = payloads(file);
        SyncMode mode = name.equals("synced") ? SyncMode.SYNC : SyncMode.NONE;
        try (ChronicleQueue queue = SingleChronicleQueueBuilder.binary(dir).syncMode(mode).build()) {
            long began = System.nanoTime();
            switch (name) {
                case "append", "single" -> append(queue, records, size);
                case "synced" -> synced(queue, records, size, threads);
                case "scan" -> scan(queue, size);
                case "random" -> {
                    findIndexes(queue);
                    began = System.nanoTime();
                    random(queue, size);
                }
                default -> throw new IOException("unknown work " + name);
            }
            return System.nanoTime() - began;
        }
    }

    private static Bytes<?>[] payloads(Path file) throws IOException {
        byte[] all = Files.readAllBytes(file);
        int length = all.length / EACH;
        Bytes<?>[] records = new Bytes<?>[EACH];
        for (int n = 0; n < EACH; n++) {
            records[n] = Bytes.allocateDirect(length);
            records[n].write(all, n * length, length);
        }
        return records;
    }

    private static void append(ChronicleQueue queue, Bytes<?>[] records, long size) {
        try (ExcerptAppender appender = queue.createAppender()) {
            for (long n = 0; n < size; n++) appender.writeBytes(records[(int) (n % EACH)]);
        }
    }

    private static void synced(ChronicleQueue queue, Bytes<?>[] records, long size, int threads) throws Exception {
        ExecutorService service = Executors.newFixedThreadPool(threads);
        try {
            List<Future<?>> all = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                all.add(service.submit(() -> {
                    try (ExcerptAppender appender = queue.createAppender()) {
                        for (long n = 0; n < size / threads; n++) {
                            appender.writeBytes(records[(int) (n % EACH)]);
                            ((MappedBytes) appender.wire().bytes()).sync();
                        }
                    }
                }));
            }
            for (Future<?> one : all) one.get();
        } finally {
            service.shutdownNow();
        }
    }

    private static void scan(ChronicleQueue queue, long size) throws IOException {
        Bytes<?> into = Bytes.allocateDirect(256);
        long found = 0;
        try (ExcerptTailer tailer = queue.createTailer()) {
            while (tailer.readBytes(into)) {
                into.clear();
                found++;
            }
        }
        if (found != size) throw new IOException(found + " records, not " + size);
    }

    private static void findIndexes(ChronicleQueue queue) {
        List<Long> found = new ArrayList<>();
        Bytes<?> into = Bytes.allocateDirect(256);
        try (ExcerptTailer tailer = queue.createTailer()) {
            for (long n = 0; tailer.readBytes(into); n++) {
                into.clear();
                if (n % EACH == 0) found.add(tailer.lastReadIndex());
            }
        }
        indexes = found.stream().mapToLong(Long::longValue).toArray();
    }

    private static void random(ChronicleQueue queue, long size) throws IOException {
        Bytes<?> into = Bytes.allocateDirect(256);
        long state = 1;
        try (ExcerptTailer tailer = queue.createTailer()) {
            for (long n = 0; n < size; n++) {
                state = state * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
                long index = indexes[(int) ((state >>> 33) % indexes.length)];
                if (!tailer.moveToIndex(index) || !tailer.readBytes(into)) throw new IOException("nothing at " + index);
                into.clear();
            }
        }
    }
}
