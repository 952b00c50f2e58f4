package io.klog.interop;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * A stock broker of one node, and stock clients of it, behind the referee's protocol. It runs on the directory that it is
 * given, which it formats if nobody has. What the broker logs goes to standard error as well, whole. The process ends with
 * its input, or when it is killed: that is a crash of the broker.
 */
public final class BrokerHost {
    private static final int NODE_ID = 1;
    private static final String CLUSTER_ID = "klogklogklogklogklogkg";
    private static final String LOOPBACK = "127.0.0.1";
    private static final long PATIENCE_S = 60;
    private static final long POLL_MS = 20;

    private final Path dir;
    private final KafkaRaftServer broker;
    private final Clients clients;
    private boolean stopped;

    private BrokerHost(Path dir) throws Exception {
        this.dir = dir;
        if (!Files.exists(dir.resolve("meta.properties"))) format(dir);
        int[] ports = freePorts();
        clients = new Clients(LOOPBACK + ":" + ports[0]);
        broker = new KafkaRaftServer(new KafkaConfig(properties(dir, ports[0], ports[1])), Time.SYSTEM);
        broker.startup();
    }

    /** Runs a broker on a directory, and answers requests about it. */
    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        // Only answers may go to standard output.
        System.setOut(System.err);
        if (arguments.length != 1) {
            System.err.println("usage: BrokerHost DIR");
            System.exit(2);
        }
        LogCapture.echoTo(System.err);
        BrokerHost host = new BrokerHost(Path.of(arguments[0]).toAbsolutePath().normalize());
        host.server().serve(System.in, answers);
        // Without a request to stop there is no need for order.
        Runtime.getRuntime().halt(0);
    }

    private CommandServer server() {
        CommandServer server = new CommandServer()
            .add(new Command("create", "TOPIC PARTITIONS [KEY=VALUE...]", this::create))
            .add(new Command("cleaned", "TOPIC-PARTITION OFFSET", this::awaitCleaned))
            .add(new Command("stop", "", this::stop));
        clients.commands().forEach(server::add);
        return server;
    }

    private String create(Arguments arguments) throws Exception {
        NewTopic topic = new NewTopic(arguments.text("TOPIC"), arguments.int32("PARTITIONS"), (short) 1);
        topic.configs(arguments.options());
        arguments.end();
        try (Admin admin = clients.admin()) {
            var created = admin.createTopics(List.of(topic));
            created.all().get(PATIENCE_S, TimeUnit.SECONDS);
            return created.topicId(topic.name()).get() + "\n";
        }
    }

    /** Waits until the cleaner has cleaned a log up to an offset at least. */
    private String awaitCleaned(Arguments arguments) throws Exception {
        String partition = arguments.text("TOPIC-PARTITION").replaceFirst("-(\\d+)$", " $1 ");
        long offset = arguments.int64("OFFSET");
        arguments.end();
        Path checkpoint = dir.resolve("cleaner-offset-checkpoint");
        for (long waited = 0; waited < TimeUnit.SECONDS.toMillis(PATIENCE_S); waited += POLL_MS) {
            for (String line : Files.exists(checkpoint) ? Files.readAllLines(checkpoint) : List.<String>of()) {
                if (line.startsWith(partition) && Long.parseLong(line.substring(partition.length())) >= offset) {
                    return line + "\n";
                }
            }
            Thread.sleep(POLL_MS);
        }
        throw new IllegalStateException("not cleaned in " + PATIENCE_S + " s");
    }

    private String stop(Arguments arguments) {
        arguments.end();
        if (!stopped) {
            stopped = true;
            clients.close();
            broker.shutdown();
            broker.awaitShutdown();
        }
        return "";
    }

    private static void format(Path dir) throws Exception {
        new Formatter()
            .setPrintStream(new PrintStream(OutputStream.nullOutputStream()))
            .setSupportedFeatures(Feature.PRODUCTION_FEATURES)
            .setReleaseVersion(MetadataVersion.latestProduction())
            .setClusterId(CLUSTER_ID)
            .setNodeId(NODE_ID)
            .setControllerListenerName("CONTROLLER")
            .setMetadataLogDirectory(dir.toString())
            .addDirectory(dir.toString())
            .run();
    }

    private static Properties properties(Path dir, int port, int controllerPort) {
        String address = "PLAINTEXT://" + LOOPBACK + ":" + port;
        Properties properties = new Properties();
        properties.putAll(Map.ofEntries(
            Map.entry("process.roles", "broker,controller"),
            Map.entry("node.id", String.valueOf(NODE_ID)),
            Map.entry("controller.quorum.voters", NODE_ID + "@" + LOOPBACK + ":" + controllerPort),
            Map.entry("controller.listener.names", "CONTROLLER"),
            Map.entry("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"),
            Map.entry("listeners", address + ",CONTROLLER://" + LOOPBACK + ":" + controllerPort),
            Map.entry("advertised.listeners", address),
            Map.entry("log.dirs", dir.toString()),
            Map.entry("auto.create.topics.enable", "false"),
            Map.entry("offsets.topic.num.partitions", "1"),
            Map.entry("offsets.topic.replication.factor", "1"),
            Map.entry("transaction.state.log.num.partitions", "1"),
            Map.entry("transaction.state.log.replication.factor", "1"),
            Map.entry("transaction.state.log.min.isr", "1"),
            Map.entry("group.initial.rebalance.delay.ms", "0"),
            // As the fixtures' brokers: small files, a cleaner that does not wait, nothing that grows old by itself. What a
            // topic is not to keep goes soon.
            Map.entry("log.initial.task.delay.ms", "300"),
            Map.entry("log.retention.check.interval.ms", "200"),
            Map.entry("log.index.size.max.bytes", "65536"),
            Map.entry("log.cleaner.backoff.ms", "200"),
            Map.entry("log.cleaner.dedupe.buffer.size", "2097152"),
            Map.entry("log.retention.ms", "-1")));
        return properties;
    }

    /** Two ports that nobody had a moment ago. */
    private static int[] freePorts() throws IOException {
        InetAddress loopback = InetAddress.getByName(LOOPBACK);
        try (ServerSocket one = new ServerSocket(0, 1, loopback); ServerSocket two = new ServerSocket(0, 1, loopback)) {
            return new int[] {one.getLocalPort(), two.getLocalPort()};
        }
    }
}
