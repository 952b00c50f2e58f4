import io.klog.KlogLog;
import io.klog.KlogManager;
import io.klog.View;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;

/** What Java 22 has for memory, with klog: segments where others give buffers. Prints "ok" at the end. */
public class Segments {
    static void check(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    static void throwing(Class<? extends Throwable> kind, Runnable work, String what) {
        try {
            work.run();
        } catch (Throwable thrown) {
            check(kind.isInstance(thrown), what + ": " + thrown);
            return;
        }
        throw new AssertionError(what + " did not throw");
    }

    public static void main(String[] args) throws Exception {
        try (KlogManager manager = KlogManager.open(Paths.get(args[0])); KlogLog log = manager.logOrCreate("a", 0)) {
            log.append("key".getBytes(StandardCharsets.UTF_8), "value".getBytes(StandardCharsets.UTF_8));
            roundTrip(manager, log);
            views(log);
            closedMeanwhile(log);
        }
        System.out.println("ok");
    }

    static void roundTrip(KlogManager manager, KlogLog log) {
        try (Arena arena = Arena.ofConfined(); KlogLog copy = manager.logOrCreate("b", 0)) {
            MemorySegment outside = arena.allocate(1000);
            MemorySegment heap = MemorySegment.ofArray(new byte[1000]);
            long bytes = log.read(0, outside.asByteBuffer()).bytes();
            check(bytes == log.read(0, heap.asByteBuffer()).bytes(), "as much");
            check(outside.asSlice(0, bytes).mismatch(heap.asSlice(0, bytes)) == -1, "the same");
            check(copy.appendRaw(outside.asSlice(0, bytes).asByteBuffer(), null).firstOffset() == 0, "appended");
            check(copy.appendRaw(heap.asSlice(0, bytes).asByteBuffer(), null).firstOffset() == 1, "appended from the heap");
        }
    }

    static void views(KlogLog log) throws Exception {
        MemorySegment segment;
        try (View view = log.view(0, null)) {
            segment = MemorySegment.ofBuffer(view.buffer());
            check(segment.isNative() && segment.isReadOnly() && segment.byteSize() == view.buffer().remaining(), "a segment");
            check(segment.get(ValueLayout.JAVA_BYTE, 16) == 2, "a batch of magic 2");
            MemorySegment lent = segment;
            Thread other = new Thread(() -> throwing(WrongThreadException.class, () -> lent.get(ValueLayout.JAVA_BYTE, 0), "a look"));
            Throwable[] failure = new Throwable[1];
            other.setUncaughtExceptionHandler((t, e) -> failure[0] = e);
            other.start();
            other.join();
            check(failure[0] == null, "" + failure[0]);
        }
        throwing(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0), "a look at what is closed");
    }

    /** An arena that others may close, and do, while the library writes into it. */
    static void closedMeanwhile(KlogLog log) throws Exception {
        for (int round = 0; round < 200; round++) {
            Arena arena = Arena.ofShared();
            MemorySegment memory = arena.allocate(1 << 16);
            CountDownLatch running = new CountDownLatch(1);
            Throwable[] ended = new Throwable[1];
            Thread reader = new Thread(() -> {
                try {
                    for (;;) {
                        log.read(0, memory.asByteBuffer());
                        running.countDown();
                    }
                } catch (Throwable thrown) {
                    ended[0] = thrown;
                    running.countDown();
                }
            });
            reader.start();
            running.await();
            for (boolean closed = false; !closed;) {
                try {
                    arena.close();
                    closed = true;
                } catch (IllegalStateException inUse) {
                    Thread.onSpinWait();
                }
            }
            reader.join();
            check(ended[0] instanceof IllegalStateException, "ended with " + ended[0]);
        }
    }
}
