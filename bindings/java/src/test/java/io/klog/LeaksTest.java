package io.klog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The alarm for what nobody closed. */
class LeaksTest {
    @TempDir
    Path dir;

    /** What is logged, for a while. */
    private static final class Told extends Handler implements AutoCloseable {
        final List<String> messages = new ArrayList<>();
        private final Logger logger = Logger.getLogger("io.klog");

        Told() {
            logger.setUseParentHandlers(false);
            logger.addHandler(this);
        }

        @Override
        public void publish(LogRecord record) {
            messages.add(record.getLevel() + ": " + record.getMessage());
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
            logger.removeHandler(this);
            logger.setUseParentHandlers(true);
        }
    }

    private static long leak(KlogLog log) {
        Cursor cursor = log.cursor(0);
        return cursor.id();
    }

    @Test
    void whatIsCollectedWithoutACloseIsCountedAndToldOnce() throws Exception {
        try (Told told = new Told(); KlogManager manager = KlogManager.open(dir); KlogLog log = manager.logOrCreate("a", 0)) {
            Handle.forgetLeaks();
            List<Long> ids = new ArrayList<>();
            for (int n = 0; n < 3; n++) {
                ids.add(leak(log));
                log.cursor(0).close();
            }
            LeakGate.collect();
            assertEquals(3, Klog.leaks());
            assertEquals(1, told.messages.size(), told.messages.toString());
            assertTrue(told.messages.get(0).startsWith("WARNING: a Cursor was not closed"), told.messages.get(0));
            // The suite's own gate sees it too.
            assertThrows(AssertionError.class, () -> LeakGate.check("this test"));
            assertEquals(0, Klog.leaks());
            // The alarm closes nothing.
            ids.forEach(id -> assertEquals(0, Library.calls().cursorClose(id)));
        }
    }

    @Test
    void theJarHasItsLicence() throws Exception {
        try (ZipFile jar = new ZipFile(Here.jar().toFile())) {
            String text = new String(jar.getInputStream(jar.getEntry("META-INF/LICENSE")).readAllBytes());
            assertTrue(text.contains("Apache License"), text);
        }
    }
}
