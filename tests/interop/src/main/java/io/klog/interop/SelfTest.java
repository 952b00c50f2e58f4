package io.klog.interop;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;

/** Proves the dump right: the text of every archived data directory must equal the text stored beside it. */
final class SelfTest {
    private static final String ARCHIVE = ".tar.gz";
    private static final int MAX_SHOWN_LINES = 5;

    private SelfTest() { }

    /** Returns whether all archives agree; prints a line for each, differences, and the count. */
    static boolean run(Path fixtures, PrintStream report) throws IOException, InterruptedException {
        List<String> names = new ArrayList<>();
        try (var archives = Files.newDirectoryStream(fixtures, "*" + ARCHIVE)) {
            for (Path archive : archives) {
                String name = archive.getFileName().toString();
                names.add(name.substring(0, name.length() - ARCHIVE.length()));
            }
        }
        names.sort(Text.BY_BYTES);
        int failed = 0;
        for (String name : names) {
            if (!check(fixtures, name, report)) failed++;
        }
        report.println((names.size() - failed) + " passed, " + failed + " failed");
        return failed == 0 && !names.isEmpty();
    }

    private static boolean check(Path fixtures, String name, PrintStream report)
            throws IOException, InterruptedException {
        Path scratch = PrivateCopy.temporaryDirectory("klog-selftest-");
        try {
            extract(fixtures.resolve(name + ARCHIVE), scratch);
            String expected = expected(fixtures, name);
            long begin = System.nanoTime();
            String actual = CanonicalDump.of(scratch.resolve(name));
            long ms = (System.nanoTime() - begin) / 1_000_000;
            boolean equal = actual.equals(expected);
            report.println((equal ? "same   " : "DIFFERS ") + name + " (" + ms + " ms)");
            if (!equal) showDifference(expected, actual, report);
            return equal;
        } finally {
            PrivateCopy.deleteTree(scratch);
        }
    }

    private static void extract(Path archive, Path into) throws IOException, InterruptedException {
        Process tar = new ProcessBuilder("tar", "xzf", archive.toString(), "-C", into.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        tar.getOutputStream().close();
        if (tar.waitFor() != 0) throw new IOException("tar failed on " + archive);
    }

    private static String expected(Path fixtures, String name) throws IOException {
        Path plain = fixtures.resolve(name + ".expected.txt");
        if (Files.exists(plain)) return Files.readString(plain);
        Path packed = fixtures.resolve(name + ".expected.txt.gz");
        try (InputStream in = new GZIPInputStream(Files.newInputStream(packed))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static void showDifference(String expected, String actual, PrintStream report) {
        String[] want = expected.split("\n", -1);
        String[] have = actual.split("\n", -1);
        int shown = 0;
        for (int i = 0; i < Math.max(want.length, have.length) && shown < MAX_SHOWN_LINES; i++) {
            String wanted = i < want.length ? want[i] : "(nothing)";
            String got = i < have.length ? have[i] : "(nothing)";
            if (wanted.equals(got)) continue;
            report.println("  line " + (i + 1) + "\n    expected " + wanted + "\n    got      " + got);
            shown++;
        }
    }
}
