package io.klog.interop;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.function.Predicate;

/**
 * A copy of a data directory that Kafka may load and change, in memory if the machine has a place for that. Modification
 * times are kept: Kafka reads them. Closing deletes the copy.
 */
final class PrivateCopy implements AutoCloseable {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    private final Path root;

    /** Copies the plain files of {@code source} and, whole, those subdirectories whose name is {@code wanted}. */
    PrivateCopy(Path source, Predicate<String> wanted) throws IOException {
        root = temporaryDirectory("klog-referee-");
        try (var entries = Files.newDirectoryStream(source)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                if (Files.isRegularFile(entry)) copyFile(entry, root.resolve(name));
                else if (Files.isDirectory(entry) && wanted.test(name)) copyTree(entry, root.resolve(name));
            }
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    Path root() {
        return root;
    }

    @Override
    public void close() throws IOException {
        deleteTree(root);
    }

    static Path temporaryDirectory(String prefix) throws IOException {
        return Files.isWritable(SHARED_MEMORY)
            ? Files.createTempDirectory(SHARED_MEMORY, prefix)
            : Files.createTempDirectory(prefix);
    }

    static void deleteTree(Path root) throws IOException {
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path dir, IOException e) throws IOException {
                Files.delete(dir);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    private static void copyTree(Path from, Path to) throws IOException {
        // A log directory may itself be a symbolic link; what lies below one is not Kafka's.
        Path start = from.toRealPath();
        Files.walkFileTree(start, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes) throws IOException {
                Files.createDirectory(to.resolve(start.relativize(dir).toString()));
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                copyFile(file, to.resolve(start.relativize(file).toString()));
                return FileVisitResult.CONTINUE;
            }
        });
    }

    private static void copyFile(Path from, Path to) throws IOException {
        Files.copy(from, to, StandardCopyOption.COPY_ATTRIBUTES);
        to.toFile().setWritable(true, true);
    }
}
