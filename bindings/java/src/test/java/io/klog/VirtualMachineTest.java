package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The same work in virtual machines with other options. */
class VirtualMachineTest {
    @TempDir
    Path dir;

    private Here.Ended workload(List<String> scenarios, String... options) throws IOException {
        List<String> all = new ArrayList<>(Arrays.asList(options));
        all.addAll(List.of("-cp", Here.jar() + File.pathSeparator + System.getProperty("klog.test.classes"),
                "io.klog.Workload", dir.toString()));
        all.addAll(scenarios);
        return Here.java(all.toArray(new String[0]));
    }

    @Test
    void theJniCheckerHasNothingToSay() throws IOException {
        String many = Here.root().resolve("tests/scenarios/concurrent/S6.scn").toString();
        Here.Ended ended = workload(List.of(many), "-Xcheck:jni", "-Dklog.debug=true", "-Dklog.part.of.rounds=50");
        assertEquals(0, ended.status(), ended.output());
        assertFalse(ended.output().contains("WARNING"), ended.output());
        assertTrue(ended.output().endsWith("ok over " + System.getProperty("klog.backend") + "\n"), ended.output());
    }

    @ParameterizedTest
    @ValueSource(strings = {"-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC", "-XX:+UseZGC"})
    void aSmallHeapIsEnoughWithEveryCollector(String collector) throws IOException {
        Here.Ended ended = workload(List.of(), collector, "-Xmx64m");
        assertEquals(0, ended.status(), ended.output());
    }
}
