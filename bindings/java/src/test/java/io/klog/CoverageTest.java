package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Everything that the library has is offered in Java, or it is said why not. */
class CoverageTest {
    private static final String STRUCTS = "records as structs with pointers cost a write of memory each; packed ones do not";
    private static final String BATCHES = "for programs without Kafka's own MemoryRecords; a cursor and a builder do the rest";

    private static final Map<String, String> NOT_OFFERED = Map.of(
            "append", STRUCTS, "appendMany", STRUCTS, "appenderAdd", STRUCTS, "cursorNext", STRUCTS,
            "decode", BATCHES, "decodePacked", BATCHES, "encode", BATCHES, "encodePacked", BATCHES);

    private static List<String> found(String text, String pattern) {
        List<String> all = new ArrayList<>();
        for (Matcher matcher = Pattern.compile(pattern).matcher(text); matcher.find();) {
            all.add(matcher.group(1));
        }
        return all;
    }

    /** klog_log_get_info is logGetInfo. */
    private static String method(String function) {
        return Pattern.compile("_(.)").matcher(function).replaceAll(m -> m.group(1).toUpperCase());
    }

    private static String sources() throws IOException {
        try (Stream<Path> all = Files.walk(Here.root().resolve("bindings/java/src/main"))) {
            StringBuilder text = new StringBuilder();
            for (Path file : all.filter(p -> p.toString().endsWith(".java")).toList()) {
                text.append(Files.readString(file));
            }
            return text.toString();
        }
    }

    @Test
    void everyFunctionIsCalledOrItIsSaidWhyNot() throws IOException {
        List<String> exported = found(Files.readString(Here.root().resolve("packaging/klog.map")), "klog_([a-z0-9_]+);")
                .stream().map(CoverageTest::method).toList();
        assertTrue(exported.size() > 90, exported.size() + " functions");
        List<String> called = found(sources(), "calls(?:\\(\\))?\\s*\\.([a-zA-Z]+)\\(");
        Map<String, String> uncalled = new TreeMap<>();
        exported.stream().filter(f -> !called.contains(f)).forEach(f -> uncalled.put(f, NOT_OFFERED.getOrDefault(f, "no reason")));
        assertEquals(new TreeMap<>(NOT_OFFERED), uncalled);
    }

    @Test
    void everyStatusAndEventHasItsName() throws IOException {
        String header = Files.readString(Here.root().resolve("include/klog.h"));
        assertEquals(new TreeSet<>(found(header, "#define KLOG_ERR_([A-Z_]+) ")), Stream.of(Status.values())
                .filter(s -> s != Status.OK && s != Status.UNKNOWN).map(Enum::name).collect(Collectors.toCollection(TreeSet::new)));
        assertEquals(found(header, "#define KLOG_EVENT_([A-Z_]+) ").size(), EventType.values().length);
        assertEquals(found(header, "#define KLOG_WAIT_([A-Z_]+) "), Stream.of(OffsetKind.values()).map(Enum::name).toList());
    }

    @Test
    void keysAndCodecsAreTold() {
        ConfigKey key = KlogConfig.keys().stream().filter(k -> k.name().equals("retention.ms")).findFirst().orElseThrow();
        assertEquals("604800000 LONG true", key.defaultValue() + " " + key.type() + " " + key.isOfTopic());
        assertTrue(KlogConfig.keys().stream().noneMatch(k -> k.name().isEmpty() || k.text().isEmpty()));
        assertTrue(KlogConfig.keys().size() > 40);
        assertEquals(EnumSet.of(Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD), Klog.codecs());
    }
}
