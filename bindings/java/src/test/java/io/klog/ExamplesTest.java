package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The samples, and the README's words, do what they say. */
class ExamplesTest {
    @TempDir
    Path dir;

    private static Path examples() {
        return Here.root().resolve("bindings/java/examples");
    }

    private static String sample(String name, Path data, String... more) throws IOException {
        List<String> arguments = new ArrayList<>(List.of("-cp", Here.jar().toString(), examples().resolve(name + ".java").toString(),
                data.toString()));
        arguments.addAll(List.of(more));
        Here.Ended ended = Here.java(arguments.toArray(new String[0]));
        assertEquals(0, ended.status(), ended.output());
        return ended.output();
    }

    /** A sample of bindings/c, linked to the library of the jar. */
    private Path compiledC(String name) throws IOException {
        Path program = dir.resolve(name);
        Path library = Files.createDirectories(dir.resolve("lib")).resolve("libklogjni.so");
        if (!Files.exists(library)) {
            try (ZipFile jar = new ZipFile(Here.jar().toFile())) {
                Files.copy(jar.getInputStream(jar.getEntry("META-INF/native/" + NativeLoader.platform() + "/libklogjni.so")), library);
            }
        }
        Here.Ended compiled = Here.run(List.of("cc", "-std=c99", "-I" + Here.root().resolve("include"),
                Here.root().resolve("bindings/c/" + name + ".c").toString(), "-o", program.toString(), library.toString(),
                "-Wl,-rpath," + library.getParent(), "-lm"));
        assertEquals(0, compiled.status(), compiled.output());
        return program;
    }

    private static String run(Path program, Path data, String... more) throws IOException {
        List<String> command = new ArrayList<>(List.of(program.toString(), data.toString()));
        command.addAll(List.of(more));
        Here.Ended ended = Here.run(command);
        assertEquals(0, ended.status(), ended.output());
        return ended.output();
    }

    @ParameterizedTest
    @ValueSource(strings = {"Append", "Retention", "Compaction"})
    void aSamplePrintsWhatStandsBesideItAndWhatThatInCPrints(String name) throws IOException {
        String expected = Files.readString(examples().resolve(name + ".out"));
        assertEquals(expected, sample(name, dir.resolve("data")));
        assertEquals(expected, run(compiledC(name.toLowerCase()), dir.resolve("c")));
    }

    @Test
    void aSampleFetchesAndFollowsAsThatInCDoes() throws Exception {
        Path data = dir.resolve("data");
        sample("Append", data);
        String expected = Files.readString(examples().resolve("Fetch.out"));
        assertEquals(expected, sample("Fetch", data, "5"));
        Path fetch = compiledC("fetch");
        assertEquals(expected, run(fetch, data, "5"));
        // What C wrote, in Java.
        run(compiledC("append"), dir.resolve("c"));
        assertEquals(expected, sample("Fetch", dir.resolve("c"), "5"));

        // Five more come while it follows, or before it looks; it gives ten in either case.
        CompletableFuture<String> follower = CompletableFuture.supplyAsync(() -> {
            try {
                return sample("Fetch", data, "10");
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            }
        });
        sample("Append", data);
        List<String> lines = follower.get().lines().toList();
        assertEquals(expected.lines().skip(1).toList(), lines.subList(1, 6));
        assertEquals(expected.lines().skip(1).map(l -> l.substring(l.indexOf(' '))).toList(),
                lines.subList(6, 11).stream().map(l -> l.substring(l.indexOf(' '))).toList());
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
