package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Directories that real brokers wrote have, read from Java, the records that Kafka finds in them. */
class FixtureTest {
    @ParameterizedTest
    @ValueSource(strings = {"kafka-4.4.0-broker", "kafka-3.9.1-clean", "kafka-legacy"})
    void recordsAreThoseThatKafkaReads(String name, @TempDir Path dir) throws IOException {
        Path fixtures = Here.root().resolve("tests/fixtures");
        assertEquals(0, Here.run(List.of("tar", "xzf", fixtures.resolve(name + ".tar.gz").toString(), "-C", dir.toString())).status());
        TreeMap<String, List<String>> expected = expected(fixtures.resolve(name + ".expected.txt.gz"));
        long records = 0;
        try (KlogManager manager = KlogManager.open(new KlogManagerOptions(dir.resolve(name)).readOnly(true))) {
            List<String> names = manager.logs().stream().map(l -> l.topicPartition().toString()).sorted().toList();
            assertEquals(new ArrayList<>(expected.keySet()), names);
            for (LogListing listing : manager.logs()) {
                List<String> given = new ArrayList<>();
                try (KlogLog log = manager.log(listing.topicPartition());
                        Cursor cursor = log.cursor(log.info().logStartOffset(), new ReadOptions().controlRecords(true))) {
                    cursor.forEach(r -> given.add(r.isControl() ? control(r) : record(r)));
                }
                assertEquals(expected.get(listing.topicPartition().toString()), given, listing.toString());
                records += given.size();
            }
        }
        assertTrue(records > 1000, records + " records");
    }

    /** The rec and ctl lines of each log, from its start on. */
    private static TreeMap<String, List<String>> expected(Path file) throws IOException {
        TreeMap<String, List<String>> logs = new TreeMap<>();
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(new GZIPInputStream(Files.newInputStream(file)), StandardCharsets.UTF_8))) {
            List<String> now = null;
            long start = 0;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("log")) {
                    now = new ArrayList<>();
                    logs.put(words[1], now);
                    start = Long.parseLong(words[2].substring("start=".length()));
                } else if ((words[0].equals("rec") || words[0].equals("ctl")) && Long.parseLong(words[1]) >= start) {
                    now.add(line);
                }
            }
        }
        return logs;
    }

    private static String record(RecordView r) {
        String headers = r.headers().stream().map(h -> told(h.key().getBytes(StandardCharsets.UTF_8)) + ":" + told(h.value()))
                .collect(Collectors.joining(","));
        return "rec " + r.offset() + " ts=" + r.timestamp() + " key=" + told(r.keyBytes()) + " value=" + told(r.valueBytes())
                + (headers.isEmpty() ? "" : " headers=" + headers);
    }

    private static String control(RecordView r) {
        ByteBuffer key = r.key().duplicate();
        ByteBuffer value = r.value().duplicate();
        short version = key.getShort();
        short type = key.getShort();
        return "ctl " + r.offset() + " ts=" + r.timestamp() + " key_version=" + version + " type="
                + (type == 0 ? "abort" : type == 1 ? "commit" : type) + " value_version=" + value.getShort()
                + " coordinator_epoch=" + value.getInt();
    }

    private static String told(byte[] bytes) {
        if (bytes == null) {
            return "null";
        }
        if (bytes.length == 0) {
            return "empty";
        }
        if (bytes.length <= 64) {
            return HexFormat.of().formatHex(bytes);
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return String.format("#%d/%08x", bytes.length, crc.getValue());
    }
}
