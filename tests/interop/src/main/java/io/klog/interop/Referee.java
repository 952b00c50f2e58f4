package io.klog.interop;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.kafka.common.utils.internals.AppInfoParser;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * The server: answers requests on standard input about what Kafka's own classes make of files and appends, so that one
 * JVM serves a whole test run. README.md describes the protocol. With {@code selftest DIR} it checks itself instead.
 */
public final class Referee {
    private Referee() { }

    private static CommandServer server() {
        CommandServer server = new CommandServer()
            .add(new Command("version", "", arguments -> AppInfoParser.getVersion() + "\n"))
            .add(new Command("dump", "DIR", arguments -> CanonicalDump.of(arguments.path("DIR"))))
            .add(new Command("manager", "DIR", ManagerRun::run))
            .add(new Command("time_load", "DIR", ManagerRun::time))
            .add(new Command("dumplog", "FILE[,FILE...]", DumpTool::run))
            .add(new Command("dumptool", "DIR [ARGUMENT...]", DumpTool::runAs))
            .add(new Command("batch", "BASE CODEC create|append|none APPEND_TIME [KEY=NUMBER...] RECORD...",
                BatchBuilder::build));
        new LogDriver().commands().forEach(server::add);
        return server;
    }

    /** Starts the server, or the self test. */
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        // Only answers may go to standard output.
        System.setOut(System.err);
        Exit.setExitProcedure(Referee::refuseExit);
        Exit.setHaltProcedure(Referee::refuseExit);
        if (arguments.length == 0) {
            server().serve(System.in, answers);
        } else if (arguments.length == 2 && arguments[0].equals("selftest")) {
            boolean passed = SelfTest.run(Path.of(arguments[1]), answers);
            answers.flush();
            System.exit(passed ? 0 : 1);
        } else {
            System.err.println("usage: Referee [selftest FIXTURES_DIR]");
            System.exit(2);
        }
    }

    /** Kafka ends its process when it is told nonsense or loses its last directory; here that is an answer. */
    private static void refuseExit(int status, String message) {
        throw new IllegalStateException("Kafka wants to exit with status " + status + ": " + message);
    }
}
