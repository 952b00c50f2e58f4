package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The samples, and the README's words, do what they say. */
class ExamplesTest {
    @TempDir
    Path dir;

    @ParameterizedTest
    @ValueSource(strings = {"Append", "Fetch", "Retention", "Compaction"})
    void aSamplePrintsWhatStandsBesideIt(String name) throws IOException {
        Path examples = Here.root().resolve("bindings/java/examples");
        Here.Ended ended = Here.java("-cp", Here.jar().toString(), examples.resolve(name + ".java").toString(),
                dir.resolve("data").toString());
        assertEquals(Files.readString(examples.resolve(name + ".out")), ended.output());
        assertEquals(0, ended.status());
    }

    @ParameterizedTest
    @ValueSource(strings = {"README.md", "bindings/java/README.md"})
    void theReadmesExampleRuns(String page) throws IOException {
        String text = Files.readString(Here.root().resolve(page));
        int from = text.indexOf("```java\n");
        assertTrue(from >= 0, "no example in " + page);
        from += "```java\n".length();
        Path source = dir.resolve("Orders.java");
        Files.writeString(source, text.substring(from, text.indexOf("```", from)));
        Here.Ended ended = Here.java("-cp", Here.jar().toString(), source.toString(), dir.resolve("data").toString());
        assertEquals("0 order-7 paid\n", ended.output());
        assertEquals(0, ended.status());
    }

    @Test
    void theModuleCanBeRequired() throws IOException {
        Here.Ended ended = Here.java("-p", Here.jar().toString(), "--describe-module", "io.klog");
        assertTrue(ended.output().contains("exports io.klog\n"), ended.output());
        assertTrue(ended.output().contains("requires java.base"), ended.output());
        assertEquals(List.of("exports io.klog", "exports io.klog.errors"),
                ended.output().lines().filter(l -> l.startsWith("exports")).sorted().toList());
    }
}
