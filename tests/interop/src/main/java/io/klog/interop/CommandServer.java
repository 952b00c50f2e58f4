package io.klog.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Answers requests, one after the other, by a table of commands until its input ends. README.md describes the protocol. */
final class CommandServer {
    private final Map<String, Command> commands = new LinkedHashMap<>();

    CommandServer() {
        add(new Command("help", "", arguments -> usage()));
        add(new Command("logs", "", arguments -> LogCapture.take().stream()
            .map(line -> line + "\n").collect(Collectors.joining())));
    }

    CommandServer add(Command command) {
        commands.put(command.name(), command);
        return this;
    }

    void serve(InputStream requests, OutputStream answers) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(requests, StandardCharsets.UTF_8));
        for (String request = lines.readLine(); request != null; request = lines.readLine()) {
            answer(request, answers);
            answers.flush();
        }
    }

    private String usage() {
        return commands.values().stream().map(command -> (command.name() + " " + command.usage()).strip() + "\n")
            .collect(Collectors.joining());
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
