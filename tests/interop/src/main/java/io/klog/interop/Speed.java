package io.klog.interop;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/**
 * The server that `make bench` drives: Kafka's own classes do a piece of work, and the answer says how long it took, measured
 * here, so that neither the pipe nor opening and closing counts. Same protocol as {@link Referee}.
 */
public final class Speed {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Speed() { }

    /** Starts the server. */
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        // Only answers may go to standard output.
        System.setOut(System.err);
        LogCapture.dropDebug();
        new CommandServer()
            .add(new Command("version", "", unused -> AppInfoParser.getVersion() + " on Java "
                + System.getProperty("java.version") + "\n"))
            .add(new Command("append_ready", "DIR RECORDS-FILE BATCHES", AppendSpeed::ready))
            .add(new Command("append_built", "DIR RECORDS-FILE BATCHES EACH CODEC [THREADS LOGS]", AppendSpeed::built))
            .add(new Command("append_synced", "DIR RECORDS-FILE BATCHES THREADS", AppendSpeed::synced))
            .add(new Command("tail", "DIR RECORDS-FILE RECORDS PERIOD-NS", TailSpeed::run))
            .add(new Command("scan", "DIR", ReadSpeed::scan))
            .add(new Command("fetch", "DIR", ReadSpeed::fetch))
            .add(new Command("random", "DIR READS", ReadSpeed::random))
            .add(new Command("timestamps", "DIR LOOKUPS", ReadSpeed::timestamps))
            .add(new Command("clean", "DIR MAP-BYTES SEGMENT-BYTES", CleanSpeed::run))
            .add(new Command("load", "DIR THREADS", LoadSpeed::load))
            .add(new Command("close", "DIR", LoadSpeed::close))
            .add(new Command("create", "DIR RECORDS-FILE LOGS FLUSHED", LoadSpeed::create))
            .add(new Command("idle", "DIR", LoadSpeed::idle))
            .serve(System.in, answers);
    }

    /** Processor time of this thread, for work that one thread does without waiting. */
    static long worked() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** What every piece of work answers. */
    static String took(long began, long ended) {
        return "ns=" + (ended - began) + "\n";
    }
}
