package io.klog;

import java.io.IOException;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** After each class of tests: nothing was left open, whether it was collected or not. */
public final class LeakGate implements AfterAllCallback {
    /** Made by JUnit. */
    public LeakGate() {
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        check(context.getDisplayName());
    }

    static void check(String who) throws Exception {
        collect();
        long leaks = Klog.leaks();
        long handles = openHandles() - 1;
        if (leaks != 0 || handles != 0) {
            Handle.forgetLeaks();
            throw new AssertionError(who + " left " + handles + " handles open, and " + leaks
                    + " objects were collected without a close");
        }
    }

    private static long openHandles() throws IOException {
        Path dir = Files.createTempDirectory("klog-gate");
        try (KlogManager manager = KlogManager.open(new KlogManagerOptions(dir).readOnly(true))) {
            return manager.info().openHandles();
        } finally {
            Files.delete(dir);
        }
    }

    /** Has all garbage collected, and its references told. What is told of the second time comes behind all of the first. */
    static void collect() throws InterruptedException {
        for (int round = 0; round < 2; round++) {
            ReferenceQueue<Object> queue = new ReferenceQueue<>();
            PhantomReference<Object> last = new PhantomReference<>(new Object(), queue);
            do {
                System.gc();
            } while (queue.remove(100) != last);
        }
    }
}
