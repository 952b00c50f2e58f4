package io.klog.interop;

import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MarkerIgnoringBase;
import org.slf4j.helpers.MessageFormatter;

/**
 * Keeps what Kafka logs, so that a command can say whether Kafka complained. A test that claims "Kafka opens this
 * without a warning" is only as good as this: every WARN and ERROR is kept, and those INFO lines with which Kafka's
 * loader says that it repairs something.
 */
public final class LogCapture {
    /** What a kept line is about; its lower case name begins the line in an answer. */
    public enum Kind { WARN, ERROR, RECOVERED }

    /** One kept log line. */
    public record Line(Kind kind, String text) {
        @Override
        public String toString() {
            return kind.name().toLowerCase(java.util.Locale.ROOT) + " " + text;
        }
    }

    /** The loggers' source, for slf4j. */
    public static final ILoggerFactory FACTORY = LogCapture::logger;

    /** How Kafka 4.4.0 words a repair at INFO. Its loader's other repairs are warnings and errors. */
    private static final List<String> REPAIRS = List.of(
        "Recovering ", // unflushed segments, whole directories, files renamed after an interrupted swap
        "recovering ",
        "since no clean shutdown file was found",
        "unclean log dirs",
        "interrupted swap operation",
        "that is compacted but has not been deleted yet",
        "as part of log recovery",
        "Deleting all segments because ",
        "segment overflow error",
        "overflowed segment",
        "Deleting stray ",
        "Deleting invalid swap file ");

    /** The oldest lines go first: a long run must not fill the memory. */
    private static final int LIMIT = 20_000;

    /** How Kafka 4.4.0 says, at DEBUG, with which numbers an append rolls a segment. Kept apart: it is no remark. */
    private static final String ROLL = "Rolling new log segment (";

    private static final ConcurrentMap<String, Logger> LOGGERS = new ConcurrentHashMap<>();
    private static final Deque<Line> LINES = new ArrayDeque<>();
    private static volatile String lastRoll;
    private static volatile PrintStream echo;
    private static volatile boolean isDebugDropped;

    private LogCapture() { }

    /** The numbers of the last roll that an append asked for, or null; once. */
    public static String takeRoll() {
        String taken = lastRoll;
        lastRoll = null;
        return taken;
    }

    /** Hands out the lines kept since the last call, in the order in which they were logged. */
    public static List<Line> take() {
        synchronized (LINES) {
            List<Line> taken = new ArrayList<>(LINES);
            LINES.clear();
            return taken;
        }
    }

    /** Says that DEBUG is off, as in a broker, for measuring: no roll is noted then. */
    static void dropDebug() {
        isDebugDropped = true;
    }

    /** Prints every line from INFO on there too, for a person. */
    static void echoTo(PrintStream stream) {
        echo = stream;
    }

    private static Logger logger(String name) {
        return LOGGERS.computeIfAbsent(name, CapturingLogger::new);
    }

    private static void keep(Kind kind, FormattingTuple event) {
        echo(kind.name(), event);
        hold(kind, event);
    }

    private static void echo(String level, FormattingTuple event) {
        PrintStream stream = echo;
        if (stream == null) return;
        stream.println(System.currentTimeMillis() + " " + level + " " + event.getMessage());
        if (event.getThrowable() != null) event.getThrowable().printStackTrace(stream);
    }

    private static void hold(Kind kind, FormattingTuple event) {
        String text = event.getMessage() == null ? "" : event.getMessage();
        if (event.getThrowable() != null) text += ": " + event.getThrowable();
        synchronized (LINES) {
            if (LINES.size() == LIMIT) LINES.removeFirst();
            LINES.addLast(new Line(kind, Text.oneLine(text)));
        }
    }

    private static void info(FormattingTuple event) {
        echo("INFO", event);
        String text = event.getMessage();
        if (text != null && REPAIRS.stream().anyMatch(text::contains)) hold(Kind.RECOVERED, event);
    }

    private static void debug(String format, Object... arguments) {
        if (!isDebugDropped && format != null && format.contains(ROLL)) {
            lastRoll = MessageFormatter.arrayFormat(format, arguments).getMessage();
        }
    }

    /** slf4j's interface has a method for each level and number of arguments; all end in the three methods above. */
    private static final class CapturingLogger extends MarkerIgnoringBase {
        private static final long serialVersionUID = 1L;

        CapturingLogger(String name) {
            this.name = name;
        }

        private static FormattingTuple event(String format, Object... arguments) {
            return MessageFormatter.arrayFormat(format, arguments);
        }

        private static FormattingTuple thrown(String message, Throwable cause) {
            return new FormattingTuple(message, null, cause);
        }

        @Override public boolean isTraceEnabled() { return false; }
        @Override public void trace(String message) { }
        @Override public void trace(String format, Object a) { }
        @Override public void trace(String format, Object a, Object b) { }
        @Override public void trace(String format, Object... arguments) { }
        @Override public void trace(String message, Throwable cause) { }

        @Override public boolean isDebugEnabled() { return !isDebugDropped; }
        @Override public void debug(String message) { }
        @Override public void debug(String format, Object a) { }
        @Override public void debug(String format, Object a, Object b) { }
        @Override public void debug(String format, Object... arguments) { LogCapture.debug(format, arguments); }
        @Override public void debug(String message, Throwable cause) { }

        @Override public boolean isInfoEnabled() { return true; }
        @Override public void info(String message) { LogCapture.info(event(message)); }
        @Override public void info(String format, Object a) { LogCapture.info(event(format, a)); }
        @Override public void info(String format, Object a, Object b) { LogCapture.info(event(format, a, b)); }
        @Override public void info(String format, Object... arguments) { LogCapture.info(event(format, arguments)); }
        @Override public void info(String message, Throwable cause) { LogCapture.info(thrown(message, cause)); }

        @Override public boolean isWarnEnabled() { return true; }
        @Override public void warn(String message) { keep(Kind.WARN, event(message)); }
        @Override public void warn(String format, Object a) { keep(Kind.WARN, event(format, a)); }
        @Override public void warn(String format, Object a, Object b) { keep(Kind.WARN, event(format, a, b)); }
        @Override public void warn(String format, Object... arguments) { keep(Kind.WARN, event(format, arguments)); }
        @Override public void warn(String message, Throwable cause) { keep(Kind.WARN, thrown(message, cause)); }

        @Override public boolean isErrorEnabled() { return true; }
        @Override public void error(String message) { keep(Kind.ERROR, event(message)); }
        @Override public void error(String format, Object a) { keep(Kind.ERROR, event(format, a)); }
        @Override public void error(String format, Object a, Object b) { keep(Kind.ERROR, event(format, a, b)); }
        @Override public void error(String format, Object... arguments) { keep(Kind.ERROR, event(format, arguments)); }
        @Override public void error(String message, Throwable cause) { keep(Kind.ERROR, thrown(message, cause)); }
    }
}
