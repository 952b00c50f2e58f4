package io.klog;

import static io.klog.ErrorsTest.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.klog.errors.OffsetOutOfRangeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Stored bytes without a copy. */
class ViewTest {
    @TempDir
    Path dir;

    private static boolean overFfm() {
        return Klog.backend().equals("ffm");
    }

    @Test
    void overJniThereAreNoneAndItSaysSo() {
        Assumptions.assumeFalse(overFfm());
        try (KlogManager manager = KlogManager.open(dir); KlogLog log = manager.logOrCreate("a", 0)) {
            long handles = manager.info().openHandles();
            String said = assertThrows(UnsupportedOperationException.class, () -> log.view(0, null)).getMessage();
            assertTrue(said.contains("Java 22"), said);
            assertEquals(handles, manager.info().openHandles());
        }
    }

    @Test
    void aViewIsWhatAReadGives() {
        Assumptions.assumeTrue(overFfm());
        try (KlogManager manager = KlogManager.open(dir); KlogLog log = manager.logOrCreate("a", 0)) {
            long handles = manager.info().openHandles();
            try (View empty = log.view(0, null)) {
                assertFalse(empty.buffer().hasRemaining());
                assertEquals(0, empty.nextOffset());
            }
            log.append(null, bytes("x"));
            log.append(null, bytes("y"));
            ByteBuffer read = ByteBuffer.allocate(1000);
            ReadResult result = log.read(1, read);
            try (View view = log.view(1, null)) {
                assertEquals(read.flip(), view.buffer());
                assertEquals(view.buffer().remaining(), manager.info().pinnedBytes());
                assertEquals(result.nextOffset(), view.nextOffset());
                assertEquals("1 0 69", view.firstOffset() + " " + view.segmentBaseOffset() + " " + view.position());
                assertThrows(ReadOnlyBufferException.class, () -> view.buffer().put(0, (byte) 0));
            }
            assertThrows(OffsetOutOfRangeException.class, () -> log.view(3, null));
            assertEquals(0, manager.info().pinnedBytes());
            assertEquals(handles, manager.info().openHandles());
        }
    }

    @Test
    void aViewStaysAndEndsWithItsClose() throws Exception {
        Assumptions.assumeTrue(overFfm());
        View view;
        ByteBuffer read = ByteBuffer.allocate(1000);
        try (KlogManager manager = KlogManager.open(dir); KlogLog log = manager.logOrCreate("a", 0)) {
            log.append(null, bytes("x"));
            log.read(0, read);
            view = log.view(0, null);
            log.truncateTo(0);
            log.append(null, bytes("something else"));
            log.delete();
        }
        ByteBuffer seen = view.buffer();
        assertEquals(read.flip(), seen);
        for (Runnable elsewhere : new Runnable[] {() -> seen.get(0), view::close}) {
            Throwable refused = assertThrows(ExecutionException.class, CompletableFuture.runAsync(elsewhere)::get).getCause();
            assertEquals("WrongThreadException", refused.getClass().getSimpleName());
        }
        assertEquals(read, seen);
        view.close();
        view.close();
        assertInstanceOf(IllegalStateException.class, assertThrows(RuntimeException.class, () -> seen.get(0)));
    }

    @Test
    void memorySegmentsGoInAndComeOut() throws IOException {
        Assumptions.assumeTrue(overFfm());
        Path program = Here.root().resolve("bindings/java/src/test/java22/Segments.java");
        Here.Ended ended = Here.java("-cp", Here.jar().toString(), program.toString(), dir.toString());
        assertEquals("ok\n", ended.output());
    }
}
