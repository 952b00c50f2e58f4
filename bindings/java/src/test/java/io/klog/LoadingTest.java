package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How the native library is found. */
class LoadingTest {
    @TempDir
    Path dir;

    /** A process that does nothing but load the library. */
    static final class Load {
        private Load() {
        }

        /** No arguments. */
        public static void main(String[] args) {
            System.out.println(Klog.libraryVersion() + " " + Klog.backend());
        }
    }

    private static Here.Ended load(String... options) throws IOException {
        List<String> all = new ArrayList<>(Arrays.asList(options));
        all.addAll(List.of("-cp", Here.jar() + File.pathSeparator + System.getProperty("klog.test.classes"),
                "io.klog.LoadingTest$Load"));
        return Here.java(all.toArray(new String[0]));
    }

    private static void worked(Here.Ended ended) {
        assertEquals(0, ended.status(), ended.output());
        assertEquals(Klog.libraryVersion() + " " + System.getProperty("klog.backend") + "\n", ended.output());
    }

    private List<Path> cached() throws IOException {
        try (Stream<Path> all = Files.walk(dir)) {
            return all.filter(Files::isRegularFile).toList();
        }
    }

    @Test
    void manyProcessesAtOnceLeaveOneFile() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Here.Ended>> all = new ArrayList<>();
        for (int n = 0; n < 8; n++) {
            all.add(pool.submit(() -> load("-Dklog.cache.dir=" + dir.resolve("cache"))));
        }
        for (Future<Here.Ended> each : all) {
            worked(each.get());
        }
        pool.shutdown();
        assertEquals(1, cached().size(), cached().toString());
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(dir.resolve("cache"))));
    }

    @Test
    void aFileThatIsNotTheJarsIsReplaced() throws IOException {
        worked(load("-Dklog.cache.dir=" + dir.resolve("cache")));
        Path file = cached().get(0);
        byte[] good = Files.readAllBytes(file);
        Files.write(file, new byte[] {1, 2, 3});
        worked(load("-Dklog.cache.dir=" + dir.resolve("cache")));
        assertEquals(1, cached().size());
        assertTrue(Arrays.equals(good, Files.readAllBytes(file)));
    }

    @Test
    void aDirectoryThatCannotBeUsedIsPassedOver() throws IOException {
        Path open = Files.createDirectory(dir.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        Path link = Files.createSymbolicLink(dir.resolve("link"), Files.createDirectory(dir.resolve("target")));
        Path file = Files.createFile(dir.resolve("file"));
        for (Path bad : List.of(open, link, file)) {
            worked(load("-Dklog.cache.dir=" + bad, "-Duser.home=" + dir.resolve("home")));
        }
        assertEquals(2, cached().size(), cached().toString());
    }

    @Test
    void aDirectoryThatNothingIsExecutedInIsPassedOver() throws IOException {
        Path mount = Files.createDirectory(dir.resolve("noexec"));
        boolean mounted = Here.run(List.of("mount", "-t", "tmpfs", "-o", "noexec,size=32m,mode=0700", "tmpfs", mount.toString()))
                .status() == 0;
        Assumptions.assumeTrue(mounted, "this user may not mount");
        try {
            worked(load("-Dklog.cache.dir=" + mount, "-Duser.home=" + dir.resolve("home")));
            assertEquals(2, cached().size(), cached().toString());
            Here.Ended ended = load("-Dklog.library=" + cached().stream().filter(f -> f.startsWith(mount)).findFirst().orElseThrow());
            assertNotEquals(0, ended.status());
        } finally {
            Here.run(List.of("umount", mount.toString()));
        }
    }

    @Test
    void whenNothingWorksEveryPlaceIsTold() throws IOException {
        Path file = Files.createFile(dir.resolve("file"));
        Here.Ended ended = Here.run(List.of("env", "-u", "XDG_CACHE_HOME",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Dklog.cache.dir=" + file,
                "-Duser.home=" + file, "-Djava.io.tmpdir=" + file, "-Dklog.backend=" + System.getProperty("klog.backend"), "-cp",
                Here.jar() + File.pathSeparator + System.getProperty("klog.test.classes"), "io.klog.LoadingTest$Load"));
        assertNotEquals(0, ended.status());
        for (String said : List.of(file + ":", file + "/.cache/klog:", file + "/klog-", "-Dklog.cache.dir", "-Dklog.library",
                "--enable-native-access")) {
            assertTrue(ended.output().contains(said), said + " in " + ended.output());
        }
    }

    @Test
    void aLibraryThatIsNamedIsTheOnlyOneTried() throws IOException {
        worked(load("-Dklog.cache.dir=" + dir.resolve("cache")));
        Path library = cached().get(0);
        worked(load("-Dklog.library=" + library));
        worked(load("-Dklog.library.system=true", "-Djava.library.path=" + library.getParent()));
        Here.Ended ended = load("-Dklog.library=" + dir.resolve("none.so"));
        assertNotEquals(0, ended.status());
        assertTrue(ended.output().contains("none.so (-Dklog.library)"), ended.output());
    }

    @Test
    void twoClassLoadersHaveOneEach() throws Exception {
        List<Class<?>> classes = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            URLClassLoader loader = new URLClassLoader(new URL[] {Here.jar().toUri().toURL()}, ClassLoader.getPlatformClassLoader());
            Class<?> klog = loader.loadClass("io.klog.Klog");
            assertEquals(Klog.libraryVersion(), klog.getMethod("libraryVersion").invoke(null));
            assertEquals(Klog.backend(), klog.getMethod("backend").invoke(null));
            classes.add(klog);
        }
        assertNotSame(classes.get(0), classes.get(1));
    }

    /** klog's jar and the tests in one jar, as tools make them for programs. */
    private Path shaded(boolean multiRelease) throws IOException {
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, "io.klog.LoadingTest$Load");
        if (multiRelease) {
            manifest.getMainAttributes().putValue("Multi-Release", "true");
        }
        Path shaded = dir.resolve("shaded-" + multiRelease + ".jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(shaded), manifest);
                ZipFile klog = new ZipFile(Here.jar().toFile())) {
            for (ZipEntry entry : Collections.list(klog.entries())) {
                if (!entry.isDirectory() && !entry.getName().equals("META-INF/MANIFEST.MF")) {
                    out.putNextEntry(new ZipEntry(entry.getName()));
                    klog.getInputStream(entry).transferTo(out);
                }
            }
            out.putNextEntry(new ZipEntry("io/klog/LoadingTest$Load.class"));
            Files.copy(Path.of(System.getProperty("klog.test.classes"), "io/klog/LoadingTest$Load.class"), out);
        }
        return shaded;
    }

    @Test
    void aShadedJarWorks() throws IOException {
        worked(Here.java("-jar", shaded(true).toString()));
        // Without the word in the manifest there is the base alone: no java.lang.foreign, but all else.
        Here.Ended ended = Here.java("-Dklog.backend=auto", "-jar", shaded(false).toString());
        assertEquals(Klog.libraryVersion() + " jni\n", ended.output());
    }

    @Test
    void nothingOfTheJdksOwnIsUsed() throws IOException {
        Path jdeps = Path.of(System.getProperty("java.home"), "bin", "jdeps");
        Here.Ended ended = Here.run(List.of(jdeps.toString(), "--multi-release", "" + Runtime.version().feature(), "--jdk-internals",
                Here.jar().toString()));
        assertEquals("", ended.output());
        ended = Here.run(List.of(jdeps.toString(), "--multi-release", "" + Runtime.version().feature(), "-s", Here.jar().toString()));
        assertEquals(List.of("io.klog -> java.base", "io.klog -> java.logging"), ended.output().lines().sorted().toList());
    }

    @Test
    void aBackendThatIsNotThereIsRefused() throws IOException {
        Here.Ended ended = load("-Dklog.backend=telepathy");
        assertTrue(ended.output().contains("jni, ffm or auto"), ended.output());
        if (Runtime.version().feature() < 22) {
            assertTrue(load("-Dklog.backend=ffm").output().contains("needs Java 22"));
        }
    }
}
