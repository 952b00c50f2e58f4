package io.klog.interop;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.internals.AppInfoParser;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * The server: answers requests on standard input about what Kafka's own classes make of files and appends, so that one
 * JVM serves a whole test run. README.md describes the protocol. With {@code selftest DIR} it checks itself instead.
 */
public final class Referee {
    private final Map<String, Command> commands = new LinkedHashMap<>();

    private Referee() {
        add(new Command("version", "", arguments -> AppInfoParser.getVersion() + "\n"));
        add(new Command("help", "", arguments -> usage()));
        add(new Command("dump", "DIR", arguments -> CanonicalDump.of(arguments.path("DIR"))));
        add(new Command("manager", "DIR", ManagerRun::run));
        add(new Command("dumplog", "FILE[,FILE...]", DumpTool::run));
        add(new Command("logs", "", arguments -> LogCapture.take().stream()
            .map(line -> line + "\n").collect(Collectors.joining())));
        add(new Command("batch", "BASE CODEC create|append|none APPEND_TIME [KEY=NUMBER...] RECORD...",
            BatchBuilder::build));
        new LogDriver().commands().forEach(this::add);
    }

    /** Starts the server, or the self test. */
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        // Only answers may go to standard output.
        System.setOut(System.err);
        Exit.setExitProcedure(Referee::refuseExit);
        Exit.setHaltProcedure(Referee::refuseExit);
        if (arguments.length == 0) {
            new Referee().serve(System.in, answers);
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

    private void add(Command command) {
        commands.put(command.name(), command);
    }

    private String usage() {
        return commands.values().stream().map(command -> (command.name() + " " + command.usage()).strip() + "\n")
            .collect(Collectors.joining());
    }

    private void serve(InputStream requests, OutputStream answers) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(requests, StandardCharsets.UTF_8));
        for (String request = lines.readLine(); request != null; request = lines.readLine()) {
            answer(request, answers);
            answers.flush();
        }
    }

    private void answer(String request, OutputStream answers) throws IOException {
        String kind;
        byte[] payload;
        try {
            payload = Text.utf8(run(new ArrayList<>(Arrays.asList(request.split("\t", -1)))));
            kind = "ok ";
        } catch (Throwable thrown) {
            // Even an error of the JVM (memory, stack) concerns this request only.
            payload = Text.utf8(Failure.text(thrown));
            kind = "error ";
        }
        answers.write(Text.utf8(kind + payload.length + "\n"));
        answers.write(payload);
    }

    private String run(List<String> fields) throws Exception {
        Command command = commands.get(fields.get(0));
        if (command == null) throw new BadRequest("unknown command " + fields.get(0));
        return command.action().run(new Arguments(fields.subList(1, fields.size())));
    }
}
