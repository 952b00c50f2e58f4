package io.klog;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs a scenario of tests/scenarios; its README.md says what the verbs are. */
final class Scenario {
    private static final long T0 = 1_000_000_000_000L;
    private static final int PART_OF_ROUNDS = Integer.parseInt(
            System.getProperty("klog.part.of.rounds", System.getenv().getOrDefault("KLOG_PART_OF_ROUNDS", "10")));

    /** A record as a step writes it. */
    private record Written(long timestamp, byte[] key, byte[] value, List<Header> headers) {
    }

    private final Path dir;
    private KlogManager manager;
    private KlogLog log;
    private String topic;
    private KlogConfig keys;
    private long now = T0;

    private Scenario(Path dir) {
        this.dir = dir;
    }

    /** Runs all steps, and gives a line for each one whose answer differs. */
    static List<String> run(Path file, Path dir) throws Exception {
        Scenario scenario = new Scenario(dir);
        List<String> wrong = new ArrayList<>();
        scenario.open();
        int number = 0;
        for (String line : Files.readAllLines(file)) {
            number++;
            String[] halves = line.replaceAll("#.*", "").split("(?<![-])>", 2);
            if (halves[0].isBlank()) {
                continue;
            }
            String expected = halves.length == 2 ? halves[1].strip() : null;
            String answer = scenario.answer(Arrays.asList(halves[0].strip().split(" +")));
            boolean right = expected != null ? answer.equals(expected) : answer.isEmpty() || answer.contains("..");
            if (!right) {
                wrong.add("line " + number + ": " + halves[0].strip() + ": " + answer + ", expected " + expected);
            }
        }
        scenario.manager.close();
        return wrong;
    }

    private String answer(List<String> words) throws Exception {
        try {
            return step(words.get(0), words.subList(1, words.size()));
        } catch (KlogException refused) {
            String records = refused.recordErrors().stream().map(e -> "" + e.recordIndex()).collect(Collectors.joining(","));
            return refused.status().name() + (records.isEmpty() ? "" : " records=" + records);
        }
    }

    private String step(String verb, List<String> args) throws Exception {
        switch (verb) {
            case "topic":
                topic = args.get(0);
                keys = KlogConfig.topic();
                args.stream().skip(1).map(a -> a.split("=", 2)).forEach(a -> keys.set(a[0], a[1]));
                openTopic();
                return "";
            case "now":
                now = time(args.get(0));
                manager.tick(now);
                return "";
            case "append":
                return append(args, null);
            case "append_none":
                return append(List.of(), null);
            case "append_as":
                return append(args.subList(3, args.size()), new AppendOptions().producer(Long.parseLong(args.get(0)),
                        Integer.parseInt(args.get(1)), Integer.parseInt(args.get(2))));
            case "append_spoiled":
                return told(log.appendRaw(spoiled(args), null));
            case "read":
                return read(Long.parseLong(args.get(0)), args.size() > 1 ? Long.parseLong(args.get(1)) : 0);
            case "scan":
                return scan(Long.parseLong(args.get(0)));
            case "find":
                return log.offsetForTime(time(args.get(0)))
                        .map(f -> f.offset() + "@" + told(f.timestamp()) + " epoch=" + f.leaderEpoch()).orElse("none");
            case "segments":
                return files(".log").stream().map(p -> Long.parseLong(name(p).replace(".log", "")) + ":" + p.toFile().length())
                        .collect(Collectors.joining(" "));
            case "end":
                return "" + log.endOffset();
            case "roll":
                return "" + log.roll();
            case "retain":
                RetainResult retained = log.retain();
                return "deleted=" + retained.segmentsDeleted() + " start=" + retained.logStartOffset();
            case "delete_records":
                return "start=" + log.deleteRecords(Long.parseLong(args.get(0)));
            case "truncate":
                return "" + log.truncateTo(Long.parseLong(args.get(0)));
            case "clean":
                CleanResult cleaned = log.clean(new CleanOptions().roll(!args.isEmpty()));
                return "first_dirty=" + cleaned.firstDirtyOffset() + " read=" + cleaned.recordsRead() + " kept="
                        + cleaned.recordsKept() + " bytes=" + cleaned.bytesRead() + "->" + cleaned.bytesWritten();
            case "close":
                manager.close();
                return "";
            case "reopen":
                if (!args.isEmpty()) {
                    Files.delete(dir.resolve(".kafka_cleanshutdown"));
                }
                open();
                openTopic();
                return "";
            case "drop_indexes":
                for (Path index : files("index")) {
                    Files.delete(index);
                }
                return "";
            case "add_bytes":
                Files.write(dir.resolve(topic + "-0").resolve(String.format("%020d.log", Long.parseLong(args.get(0)))),
                        value(args.get(1)), StandardOpenOption.APPEND);
                return "";
            case "together":
                return Together.run(log, number(args, "writers"), number(args, "appends"), number(args, "followers"),
                        number(args, "roll"), number(args, "keys"), args.contains("clean"));
            case "close_race":
                manager.close();
                return CloseRace.run(dir.resolve("race"), number(args, "threads"), number(args, "rounds") / PART_OF_ROUNDS);
            default:
                return "no verb " + verb;
        }
    }

    /** The N of NAME=N, 0 without one. */
    private static int number(List<String> args, String name) {
        return args.stream().filter(a -> a.startsWith(name + "=")).mapToInt(a -> Integer.parseInt(a.substring(name.length() + 1)))
                .findFirst().orElse(0);
    }

    private void open() {
        // Nothing is done by time: each step asks for what it wants.
        manager = KlogManager.open(new KlogManagerOptions(dir).manualClock(now)
                .config(KlogConfig.broker().set("log.initial.task.delay.ms", Long.MAX_VALUE)));
    }

    private void openTopic() {
        if (log != null) {
            log.close();
        }
        log = manager.log(new TopicPartition(topic, 0), new KlogLogOptions().create(true).config(keys));
    }

    private RecordBatchBuilder batch(List<String> records) {
        RecordBatchBuilder batch = new RecordBatchBuilder();
        records.stream().map(this::written).forEach(r -> batch.add(r.timestamp(), r.key(), r.value(), r.headers()));
        return batch;
    }

    private String append(List<String> records, AppendOptions options) {
        return told(log.append(batch(records), options));
    }

    private static String told(AppendResult r) {
        return r.firstOffset() + ".." + r.lastOffset() + " bytes=" + r.bytesAppended() + " max_ts=" + told(r.maxTimestamp())
                + " append_time=" + told(r.logAppendTime()) + " start=" + r.logStartOffset();
    }

    /** A ready batch with one byte of its last record changed: made in a log of its own. */
    private ByteBuffer spoiled(List<String> records) {
        ByteBuffer bytes = ByteBuffer.allocate(4096);
        try (KlogLog scratch = manager.logOrCreate("scratch", 0)) {
            scratch.append(batch(records));
            scratch.read(0, bytes);
        }
        bytes.flip();
        bytes.put(bytes.limit() - 2, (byte) (bytes.get(bytes.limit() - 2) ^ 1));
        return bytes;
    }

    private String read(long offset, long maxBytes) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(1 << 20);
        ReadResult result = log.read(offset, bytes, new ReadOptions().maxBytes(maxBytes));
        bytes.flip();
        if (result.bytes() == 0) {
            return "empty";
        }
        List<String> batches = new ArrayList<>();
        for (int at = 0; at < bytes.limit(); at += 12 + bytes.getInt(at + 8)) {
            batches.add(bytes.getLong(at) + ".." + (bytes.getLong(at) + bytes.getInt(at + 23)));
        }
        return "bytes=" + bytes.limit() + " " + String.join(",", batches);
    }

    private String scan(long offset) {
        List<String> records = new ArrayList<>();
        try (Cursor cursor = log.cursor(offset)) {
            for (RecordView r : cursor) {
                StringBuilder told = new StringBuilder(r.offset() + ":" + told(r.keyBytes()) + "=" + told(r.valueBytes()) + "@"
                        + told(r.timestamp()));
                r.headers().forEach(h -> told.append(";" + h.key() + "=" + told(h.value())));
                records.add(told.toString());
            }
        }
        return records.isEmpty() ? "empty" : String.join(" ", records);
    }

    private List<Path> files(String ending) throws Exception {
        try (Stream<Path> all = Files.list(dir.resolve(topic + "-0"))) {
            return all.filter(p -> name(p).endsWith(ending)).sorted().toList();
        }
    }

    private static String name(Path path) {
        return path.getFileName().toString();
    }

    /** KEY=VALUE@TIME;NAME=VALUE */
    private Written written(String text) {
        String[] parts = text.split(";", 2);
        int at = parts[0].lastIndexOf('@');
        String[] pair = parts[0].substring(0, at < 0 ? parts[0].length() : at).split("=", 2);
        List<Header> headers = new ArrayList<>();
        if (parts.length == 2) {
            String[] header = parts[1].split("=", 2);
            headers.add(new Header(header[0], value(header[1])));
        }
        return new Written(at < 0 ? now : time(parts[0].substring(at + 1)), value(pair[0]), value(pair[1]), headers);
    }

    /** A value as it is written: bare, null, x'hex', c*N. */
    private static byte[] value(String text) {
        if (text.equals("null")) {
            return null;
        }
        if (text.startsWith("x'")) {
            return java.util.HexFormat.of().parseHex(text.substring(2, text.length() - 1).toLowerCase());
        }
        String[] times = text.split("\\*", 2);
        return (times.length == 2 ? times[0].repeat(Integer.parseInt(times[1])) : text).getBytes(StandardCharsets.UTF_8);
    }

    private static long time(String text) {
        return text.startsWith("t0") ? T0 + (text.length() > 2 ? Long.parseLong(text.substring(3)) : 0) : Long.parseLong(text);
    }

    private static String told(byte[] value) {
        return value == null ? "null" : new String(value, StandardCharsets.UTF_8);
    }

    private static String told(long time) {
        return time == T0 ? "t0" : time > T0 - 1_000_000 && time < T0 + 1_000_000_000
                ? "t0" + (time > T0 ? "+" : "") + (time - T0) : "" + time;
    }
}
