package io.klog.interop;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/**
 * The canonical text of a data directory: what Kafka has in memory after loading it. Each log is loaded for itself, as
 * the log manager does it but with the clock at 0, on a private copy; the directory asked about stays as it is.
 */
final class CanonicalDump {
    private static final String CLEAN_MARKER = ".kafka_cleanshutdown";
    private static final String START_OFFSETS = "log-start-offset-checkpoint";
    private static final String RECOVERY_POINTS = "recovery-point-offset-checkpoint";
    private static final List<String> CHECKPOINTS = List.of(
        "cleaner-offset-checkpoint", START_OFFSETS, RECOVERY_POINTS, "replication-offset-checkpoint");

    private static final Comparator<TopicPartition> BY_NAME =
        Comparator.comparing(TopicPartition::topic, Text.BY_BYTES).thenComparingInt(TopicPartition::partition);

    private final Path dir;
    private final StringBuilder out = new StringBuilder();
    private final Map<String, Map<TopicPartition, Long>> checkpoints = new HashMap<>();
    private boolean clean;

    private CanonicalDump(Path dir) {
        this.dir = dir;
    }

    static String of(Path dir) throws IOException {
        if (!Files.isDirectory(dir)) throw new BadRequest("not a directory: " + dir);
        try (PrivateCopy copy = new PrivateCopy(dir, name -> DirectoryKind.of(name) == DirectoryKind.LOG)) {
            CanonicalDump dump = new CanonicalDump(copy.root());
            dump.writeHead();
            for (String name : subdirectories(dir)) {
                DirectoryKind kind = DirectoryKind.of(name);
                if (kind != DirectoryKind.LOG) dump.line("dir", name, kind.name().toLowerCase(Locale.ROOT));
            }
            dump.writeLogs();
            return dump.out.toString();
        } finally {
            LogCapture.take(); // What Kafka said about a damaged fixture is in the text; nobody asks for it later.
        }
    }

    private void line(Object... words) {
        String separator = "";
        for (Object word : words) {
            out.append(separator).append(word);
            separator = " ";
        }
        out.append('\n');
    }

    private static List<String> subdirectories(Path dir) throws IOException {
        List<String> names = new ArrayList<>();
        try (var entries = Files.newDirectoryStream(dir, Files::isDirectory)) {
            for (Path entry : entries) names.add(entry.getFileName().toString());
        }
        names.sort(Text.BY_BYTES);
        return names;
    }

    private void writeHead() throws IOException {
        clean = Files.exists(dir.resolve(CLEAN_MARKER));
        line("dump", 1);
        line("clean", clean ? "yes" : "no");
        writeMeta();
        for (String name : CHECKPOINTS) readCheckpoint(name);
    }

    private void writeMeta() throws IOException {
        Path file = dir.resolve("meta.properties");
        if (!Files.isRegularFile(file)) return;
        Properties meta = new Properties();
        try (InputStream in = Files.newInputStream(file)) {
            meta.load(in);
        }
        List<String> keys = new ArrayList<>(meta.stringPropertyNames());
        keys.sort(Text.BY_BYTES);
        keys.forEach(key -> line("meta", key + "=" + meta.getProperty(key)));
    }

    private void readCheckpoint(String name) {
        Map<TopicPartition, Long> offsets = new TreeMap<>(BY_NAME);
        Path file = dir.resolve(name);
        if (Files.exists(file)) {
            try {
                offsets.putAll(new OffsetCheckpointFile(file.toFile(), new LogDirFailureChannel(1)).read());
                offsets.forEach((partition, offset) -> line("checkpoint", name, partition, offset));
            } catch (IOException | RuntimeException e) {
                line("checkpoint", name, "unreadable");
            }
        }
        checkpoints.put(name, offsets);
    }

    private void writeLogs() throws IOException {
        List<Path> logs = new ArrayList<>();
        for (String name : subdirectories(dir)) logs.add(dir.resolve(name));
        logs.sort(Comparator.comparing(DirectoryKind::partition, BY_NAME));
        for (Path log : logs) writeLog(log);
    }

    private void writeLog(Path logDir) throws IOException {
        TopicPartition partition = DirectoryKind.partition(logDir);
        ManualTime time = new ManualTime(0);
        UnifiedLog log;
        try {
            log = Logs.open(logDir, new LogConfig(Map.of()), checkpointed(START_OFFSETS, partition),
                checkpointed(RECOVERY_POINTS, partition), clean, time);
        } catch (IOException | RuntimeException e) {
            line("log", partition, "error");
            return;
        }
        try {
            log.updateHighWatermark(log.logEndOffset());
            new LogText(log, out).write();
        } finally {
            Logs.drop(log);
        }
    }

    private long checkpointed(String name, TopicPartition partition) {
        return checkpoints.get(name).getOrDefault(partition, 0L);
    }
}
