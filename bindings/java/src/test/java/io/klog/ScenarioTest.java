package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The scenarios that all bindings share. */
class ScenarioTest {
    static Stream<Path> files() throws IOException {
        return Files.walk(Here.root().resolve("tests/scenarios")).filter(p -> p.toString().endsWith(".scn")).sorted();
    }

    @ParameterizedTest
    @MethodSource("files")
    void answersAreThoseOfKafka(Path file, @TempDir Path dir) throws Exception {
        assertEquals(List.of(), Scenario.run(file, dir));
    }

    @Test
    void anAnswerThatDiffersIsTold(@TempDir Path dir) throws Exception {
        Path file = dir.resolve("wrong.scn");
        Files.writeString(file, "topic a\nend > 7\n");
        assertEquals(List.of("line 2: end: 0, expected 7"), Scenario.run(file, Files.createDirectory(dir.resolve("data"))));
    }

    @Test
    void theBackendIsTheOneAskedFor() throws IOException {
        assertEquals(System.getProperty("klog.backend"), Klog.backend());
        assertTrue(files().count() >= 6);
    }
}
