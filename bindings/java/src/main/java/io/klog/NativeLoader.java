package io.klog;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Finds the native library and loads it. In this order:
 *
 * <ol>
 * <li>the file that {@code klog.library} names, and nothing else then;
 * <li>with {@code klog.library.system=true} the one on {@code java.library.path};
 * <li>the one in the jar, copied to the first directory that can be used ({@link NativeCache}).
 * </ol>
 *
 * When nothing works, the error says for each place that was tried why it did not.
 */
final class NativeLoader {
    static final String LIBRARY = "klog.library";
    static final String SYSTEM = "klog.library.system";
    static final String BACKEND = "klog.backend";
    private static final String NAME = "klogjni";
    private static final int COPIES_MAX = 64;

    private final boolean overFfm;
    private final List<String> tried = new ArrayList<>();

    private NativeLoader(boolean overFfm) {
        this.overFfm = overFfm;
    }

    static Backend load() {
        NativeLoader loader = new NativeLoader(chosenBackend());
        String file = System.getProperty(LIBRARY);
        if (file != null) {
            return loader.must(Paths.get(file).toAbsolutePath());
        }
        if (Boolean.getBoolean(SYSTEM)) {
            return loader.fromSystem();
        }
        return loader.fromJar();
    }

    /** Whether calls go over java.lang.foreign: where it is, unless the other is asked for. */
    private static boolean chosenBackend() {
        String wish = System.getProperty(BACKEND, "auto");
        switch (wish) {
            case "auto":
                return FfmBackend.isAvailable();
            case "jni":
                return false;
            case "ffm":
                if (!FfmBackend.isAvailable()) {
                    throw new UnsatisfiedLinkError("-D" + BACKEND + "=ffm needs Java 22 or later, and klog's jar as a jar; this is Java "
                            + System.getProperty("java.version"));
                }
                return true;
            default:
                throw new IllegalArgumentException("-D" + BACKEND + "=" + wish + ": it is jni, ffm or auto");
        }
    }

    private Backend open(Path file) {
        String path = file.toString();
        return overFfm ? FfmBackend.open(path) : JniBackend.open(path);
    }

    private Backend must(Path file) {
        try {
            return open(file);
        } catch (UnsatisfiedLinkError | IllegalArgumentException error) {
            tried.add(file + " (-D" + LIBRARY + "): " + error.getMessage());
            throw failed(error);
        }
    }

    private Backend fromSystem() {
        try {
            return overFfm ? FfmBackend.openSystem(NAME) : JniBackend.openSystem(NAME);
        } catch (UnsatisfiedLinkError error) {
            tried.add("lib" + NAME + " on java.library.path (-D" + SYSTEM + "): " + error.getMessage());
            throw failed(error);
        }
    }

    private Backend fromJar() {
        String resource = "/META-INF/native/" + platform() + "/lib" + NAME + ".so";
        byte[] library;
        String hash;
        try {
            library = resource(resource);
            hash = new String(resource(resource + ".sha256"), StandardCharsets.US_ASCII).trim();
        } catch (IOException error) {
            tried.add("the jar's " + resource + ": " + error.getMessage());
            throw failed(error);
        }
        if (!NativeCache.sha256(library).equals(hash)) {
            tried.add("the jar's " + resource + ": its SHA-256 is not " + hash + "; the jar is damaged");
            throw failed(null);
        }
        Throwable last = null;
        for (Path directory : NativeCache.directories()) {
            try {
                return loadOnce(NativeCache.place(directory, hash, library));
            } catch (IOException | UnsatisfiedLinkError | IllegalArgumentException error) {
                tried.add(directory + ": " + error);
                last = error;
            }
        }
        throw failed(last);
    }

    /** JNI takes a path in one class loader only: another one loads the same file under another name. */
    private Backend loadOnce(Path file) throws IOException {
        UnsatisfiedLinkError refused = null;
        Path candidate = file;
        for (int copy = 1; copy <= COPIES_MAX; copy++) {
            try {
                return open(candidate);
            } catch (UnsatisfiedLinkError error) {
                if (error.getMessage() == null || !error.getMessage().contains("another classloader")) {
                    throw error;
                }
                refused = error;
                candidate = NativeCache.sibling(file, copy);
            }
        }
        throw refused;
    }

    private static byte[] resource(String name) throws IOException {
        try (InputStream in = NativeLoader.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IOException("there is none; klog was not built for this platform, or the jar lacks its natives");
            }
            return NativeCache.readAll(in);
        }
    }

    /** As in the jar's folders: linux-x86_64-gnu. */
    static String platform() {
        String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
        arch = arch.equals("amd64") || arch.equals("x86-64") ? "x86_64" : arch.equals("arm64") ? "aarch64" : arch;
        return os.startsWith("linux") ? "linux-" + arch + (isMusl() ? "-musl" : "-gnu") : os.replace(' ', '_') + "-" + arch;
    }

    /** Which C library this process has: what is mapped says so. */
    private static boolean isMusl() {
        try (Reader maps = Files.newBufferedReader(Paths.get("/proc/self/maps"), StandardCharsets.ISO_8859_1)) {
            StringBuilder text = new StringBuilder();
            char[] part = new char[8192];
            for (int n = maps.read(part); n > 0; n = maps.read(part)) {
                text.append(part, 0, n);
            }
            return text.indexOf("ld-musl") >= 0 && text.indexOf("libc.so.6") < 0;
        } catch (IOException unknown) {
            return false;
        }
    }

    private UnsatisfiedLinkError failed(Throwable cause) {
        StringBuilder text = new StringBuilder("klog's native library could not be loaded over ")
                .append(overFfm ? "ffm" : "jni").append(". Tried:");
        for (String place : tried) {
            text.append("\n  ").append(place);
        }
        text.append("\nName a directory that files may be executed in with -D").append(NativeCache.DIRECTORY)
                .append(", or the library itself with -D").append(LIBRARY)
                .append("; Java 24 and later want --enable-native-access=ALL-UNNAMED (io.klog on the module path).");
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(text.toString());
        if (cause != null) {
            error.initCause(cause);
        }
        return error;
    }
}
