package io.klog.interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own clients. Record number i has the key {@code k(i mod 7)} and a value that begins with {@code vi}; a record in
 * an answer is {@code OFFSET KEY VALUE}.
 */
final class Clients {
    private static final int KEYS = 7;
    private static final int PADDING = 40;
    private static final int FLOOD_ROUND = 10;
    private static final long PATIENCE_S = 60;
    private static final Duration POLL = Duration.ofMillis(500);

    private final String servers;
    /** The acknowledged records of the floods, which have this map's lock while they add some. */
    private final Map<TopicPartition, List<String>> acknowledged = new HashMap<>();
    private final List<Thread> floods = new ArrayList<>();
    private Throwable floodEnd;
    private volatile boolean closed;

    Clients(String servers) {
        this.servers = servers;
    }

    List<Command> commands() {
        return List.of(
            new Command("produce", "TOPIC-PARTITION CODEC plain|idempotent FIRST COUNT", this::produce),
            new Command("transact", "TOPIC-PARTITION TRANSACTIONAL_ID commit|abort FIRST COUNT", this::transact),
            new Command("flood", "TOPIC-PARTITION [TRANSACTIONAL_ID]", this::flood),
            new Command("calm", "", this::calm),
            new Command("acknowledged", "TOPIC-PARTITION COUNT", this::awaitAcknowledged),
            new Command("consume", "TOPIC-PARTITION read_uncommitted|read_committed [GROUP]", this::consume),
            new Command("position", "GROUP TOPIC-PARTITION", this::position));
    }

    Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", servers));
    }

    void close() {
        closed = true;
    }

    private String produce(Arguments arguments) throws Exception {
        TopicPartition partition = partition(arguments);
        String codec = arguments.text("CODEC");
        String kind = arguments.text("plain|idempotent");
        Map<String, Object> settings = Map.of("compression.type", codec,
            "enable.idempotence", String.valueOf(kind.equals("idempotent")));
        int first = arguments.int32("FIRST");
        int count = arguments.int32("COUNT");
        arguments.end();
        try (KafkaProducer<String, String> producer = producer(settings)) {
            return String.join("", send(producer, partition, first, count));
        }
    }

    private String transact(Arguments arguments) throws Exception {
        TopicPartition partition = partition(arguments);
        String id = arguments.text("TRANSACTIONAL_ID");
        boolean commits = arguments.text("commit|abort").equals("commit");
        int first = arguments.int32("FIRST");
        int count = arguments.int32("COUNT");
        arguments.end();
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", id))) {
            producer.initTransactions();
            return String.join("", transact(producer, partition, commits, first, count));
        }
    }

    /** Produces in the background until the process is killed; with an id in transactions, every third of them aborted. */
    private String flood(Arguments arguments) {
        TopicPartition partition = partition(arguments);
        Map<String, Object> settings = arguments.more()
            ? Map.of("transactional.id", arguments.text("TRANSACTIONAL_ID")) : Map.of();
        arguments.end();
        Thread thread = new Thread(() -> flood(partition, settings), "flood");
        thread.setDaemon(true);
        thread.start();
        floods.add(thread);
        return "";
    }

    /** Ends the floods, and waits until all that they sent is acknowledged. */
    private String calm(Arguments arguments) throws InterruptedException {
        arguments.end();
        closed = true;
        for (Thread thread : floods) thread.join(TimeUnit.SECONDS.toMillis(PATIENCE_S));
        synchronized (acknowledged) {
            if (floodEnd != null) throw new KafkaException("a flood has ended", floodEnd);
        }
        return "";
    }

    private void flood(TopicPartition partition, Map<String, Object> settings) {
        boolean transactional = !settings.isEmpty();
        try (KafkaProducer<String, String> producer = producer(settings)) {
            if (transactional) producer.initTransactions();
            for (int round = 0; !closed; round++) {
                int first = round * FLOOD_ROUND;
                boolean commits = round % 3 != 2;
                List<String> sent = transactional
                    ? transact(producer, partition, commits, first, FLOOD_ROUND)
                    : send(producer, partition, first, FLOOD_ROUND);
                synchronized (acknowledged) {
                    if (commits || !transactional) of(partition).addAll(sent);
                    acknowledged.notifyAll();
                }
            }
        } catch (Throwable thrown) {
            synchronized (acknowledged) {
                floodEnd = thrown;
                acknowledged.notifyAll();
            }
        }
    }

    /** Waits until a flood has so many acknowledged records, and gives all of that partition. */
    private String awaitAcknowledged(Arguments arguments) throws InterruptedException {
        TopicPartition partition = partition(arguments);
        int count = arguments.int32("COUNT");
        arguments.end();
        synchronized (acknowledged) {
            while (of(partition).size() < count) {
                if (floodEnd != null) throw new KafkaException("a flood has ended", floodEnd);
                acknowledged.wait(TimeUnit.SECONDS.toMillis(PATIENCE_S));
            }
            return String.join("", of(partition));
        }
    }

    private List<String> of(TopicPartition partition) {
        return acknowledged.computeIfAbsent(partition, p -> new ArrayList<>());
    }

    private String consume(Arguments arguments) {
        TopicPartition partition = partition(arguments);
        List<TopicPartition> only = List.of(partition);
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", servers,
            "isolation.level", arguments.text("ISOLATION"), "auto.offset.reset", "none", "enable.auto.commit", "false",
            "check.crcs", "true"));
        boolean inGroup = arguments.more();
        if (inGroup) settings.put("group.id", arguments.text("GROUP"));
        arguments.end();
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(only);
            consumer.seekToBeginning(only);
            long end = consumer.endOffsets(only).get(partition);
            StringBuilder lines = new StringBuilder();
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
            while (consumer.position(partition) < end) {
                if (System.nanoTime() > deadline) throw new IllegalStateException("the end " + end + " is not reached");
                try {
                    consumer.poll(POLL).forEach(record -> lines.append(line(record.offset(), record.key(), record.value())));
                } catch (OffsetOutOfRangeException gone) {
                    // Retention may take the beginning after it was asked for; nothing else may.
                    if (consumer.beginningOffsets(only).get(partition) <= consumer.position(partition)) throw gone;
                    lines.setLength(0);
                    consumer.seekToBeginning(only);
                }
            }
            if (inGroup) consumer.commitSync();
            return lines.toString();
        }
    }

    /** Where a group goes on. */
    private String position(Arguments arguments) throws Exception {
        String group = arguments.text("GROUP");
        TopicPartition partition = partition(arguments);
        arguments.end();
        try (Admin admin = admin()) {
            OffsetAndMetadata position = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()
                .get(PATIENCE_S, TimeUnit.SECONDS).get(partition);
            return (position == null ? "none" : position.offset()) + "\n";
        }
    }

    private KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", servers, "acks", "all",
            // Several batches even of few records.
            "batch.size", "600", "linger.ms", "2"));
        settings.putAll(more);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static List<String> transact(KafkaProducer<String, String> producer, TopicPartition partition,
            boolean commits, int first, int count) throws Exception {
        producer.beginTransaction();
        List<String> sent = send(producer, partition, first, count);
        if (commits) producer.commitTransaction();
        else producer.abortTransaction();
        return sent;
    }

    /** Sends records and waits until each is acknowledged. */
    private static List<String> send(KafkaProducer<String, String> producer, TopicPartition partition, int first,
            int count) throws Exception {
        List<ProducerRecord<String, String>> records = new ArrayList<>();
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        for (int i = first; i < first + count; i++) {
            var record = new ProducerRecord<>(partition.topic(), partition.partition(), "k" + i % KEYS,
                "v" + i + "-".repeat(i % PADDING));
            records.add(record);
            answers.add(producer.send(record));
        }
        producer.flush();
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            lines.add(line(answers.get(i).get().offset(), records.get(i).key(), records.get(i).value()));
        }
        return lines;
    }

    private static String line(long offset, String key, String value) {
        return offset + " " + key + " " + value + "\n";
    }

    private static TopicPartition partition(Arguments arguments) {
        String text = arguments.text("TOPIC-PARTITION");
        int dash = text.lastIndexOf('-');
        if (dash < 1) throw new BadRequest("not TOPIC-PARTITION: " + text);
        return new TopicPartition(text.substring(0, dash),
            (int) Arguments.number("PARTITION", text.substring(dash + 1)));
    }
}
