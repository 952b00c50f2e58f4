package io.klog;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * Where the library of the jar is put as a file: one file for each content, whatever the number of processes. It is written
 * under another name and renamed, so that it is whole wherever it is; and used only if its bytes are the jar's.
 */
final class NativeCache {
    static final String DIRECTORY = "klog.cache.dir";

    private NativeCache() {
    }

    /** The directories to try. */
    static List<Path> directories() {
        List<Path> all = new ArrayList<>();
        String own = System.getProperty(DIRECTORY);
        String cache = System.getenv("XDG_CACHE_HOME");
        String home = System.getProperty("user.home");
        if (own != null) {
            all.add(Paths.get(own).toAbsolutePath());
        }
        if (cache != null && cache.startsWith("/")) {
            all.add(Paths.get(cache, "klog"));
        }
        if (home != null && home.startsWith("/") && home.length() > 1) {
            all.add(Paths.get(home, ".cache", "klog"));
        }
        all.add(Paths.get(System.getProperty("java.io.tmpdir"), "klog-" + System.getProperty("user.name")).toAbsolutePath());
        return all;
    }

    /** The file with these bytes below a directory. */
    static Path place(Path directory, String hash, byte[] library) throws IOException {
        ownDirectory(directory);
        Path folder = directory.resolve(hash.substring(0, 16));
        ownDirectory(folder);
        Path file = folder.resolve("libklogjni.so");
        if (!holds(file, hash)) {
            Path whole = folder.resolve("." + UUID.randomUUID());
            try {
                write(whole, library);
                Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } finally {
                Files.deleteIfExists(whole);
            }
        }
        return file;
    }

    /** The same file under another name. */
    static Path sibling(Path file, int number) throws IOException {
        Path other = file.resolveSibling("libklogjni-" + number + ".so");
        if (!Files.exists(other, LinkOption.NOFOLLOW_LINKS)) {
            try {
                Files.createLink(other, file);
            } catch (FileAlreadyExistsException raced) {
                return other;
            } catch (UnsupportedOperationException | IOException noLinks) {
                Path whole = file.resolveSibling("." + UUID.randomUUID());
                Files.copy(file, whole);
                Files.move(whole, other, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            }
        }
        return other;
    }

    /** Makes a directory that nobody else may write to, or finds that it is one. */
    private static void ownDirectory(Path directory) throws IOException {
        if (!Files.exists(directory, LinkOption.NOFOLLOW_LINKS)) {
            if (directory.getParent() != null) {
                Files.createDirectories(directory.getParent());
            }
            try {
                Files.createDirectory(directory,
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            } catch (FileAlreadyExistsException raced) {
                // Another process was first; what it made is looked at as any other.
            }
        }
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException("is not a directory");
        }
        Set<PosixFilePermission> rights = Files.getPosixFilePermissions(directory, LinkOption.NOFOLLOW_LINKS);
        if (rights.contains(PosixFilePermission.GROUP_WRITE) || rights.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new IOException("others may write to it; its rights must be rwxr-xr-x or less");
        }
        Object owner = Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        Object self = Files.getAttribute(Paths.get("/proc/self"), "unix:uid");
        if (!owner.equals(self) && !owner.equals(0)) {
            throw new IOException("it is another user's");
        }
    }

    private static void write(Path file, byte[] bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            ByteBuffer left = ByteBuffer.wrap(bytes);
            while (left.hasRemaining()) {
                channel.write(left);
            }
            channel.force(true);
        }
    }

    private static boolean holds(Path file, String hash) throws IOException {
        return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && sha256(Files.readAllBytes(file)).equals(hash);
    }

    static byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] part = new byte[64 << 10];
        for (int n = in.read(part); n >= 0; n = in.read(part)) {
            all.write(part, 0, n);
        }
        return all.toByteArray();
    }

    static String sha256(byte[] bytes) {
        try {
            StringBuilder hex = new StringBuilder();
            for (byte b : MessageDigest.getInstance("SHA-256").digest(bytes)) {
                hex.append(String.format("%02x", b));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError("every Java has SHA-256", impossible);
        }
    }
}
