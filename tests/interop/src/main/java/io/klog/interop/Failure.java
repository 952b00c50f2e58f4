package io.klog.interop;

import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/**
 * The text of an error answer: the exception, the name of the protocol error that a client would see, causes, rejected
 * records, and what Kafka has logged.
 */
final class Failure {
    /** Enough to find the place in Kafka or here; only for exceptions that are not plain protocol errors. */
    private static final int FRAMES = 8;

    private Failure() { }

    static String text(Throwable thrown) {
        StringBuilder out = new StringBuilder();
        out.append(describe(thrown)).append('\n');
        out.append("errors ").append(protocolError(thrown)).append('\n');
        if (thrown instanceof RecordValidationException rejected) {
            rejected.recordErrors().forEach(e -> out.append("record ").append(e.batchIndex).append(' ')
                .append(Text.oneLine(String.valueOf(e.message))).append('\n'));
        } else if (!(thrown instanceof ApiException || thrown instanceof BadRequest)) {
            frames(thrown, out);
        }
        for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
            out.append("cause ").append(describe(cause)).append('\n');
        }
        LogCapture.take().forEach(line -> out.append(line).append('\n'));
        return out.toString();
    }

    /** The protocol error as Kafka's request layer chooses it: record errors stand for the exception they carry. */
    private static String protocolError(Throwable thrown) {
        if (thrown instanceof BadRequest) return "-";
        Throwable seen = thrown instanceof RecordValidationException rejected ? rejected.invalidException() : thrown;
        return Errors.forException(seen).name();
    }

    static String describe(Throwable thrown) {
        return thrown.getClass().getSimpleName() + ": " + Text.oneLine(String.valueOf(thrown.getMessage()));
    }

    private static void frames(Throwable thrown, StringBuilder out) {
        StackTraceElement[] trace = thrown.getStackTrace();
        for (int i = 0; i < Math.min(FRAMES, trace.length); i++) out.append("at ").append(trace[i]).append('\n');
    }
}
