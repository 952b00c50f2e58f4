package io.klog;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Configuration, under Kafka's names: broker keys for a manager ({@link #broker()}), topic keys for a log ({@link #topic()}).
 * A key or value that Kafka or klog refuses throws at once, and changes nothing.
 *
 * <p>Holds no native memory, and is copied where it is used. One thread at a time.
 */
public final class KlogConfig {
    private final int kind;
    private final List<Entry> entries = new ArrayList<>();

    /** What was set, in order; of a text the key is null. */
    private static final class Entry {
        final String topic;
        final String key;
        final String value;

        Entry(String topic, String key, String value) {
            this.topic = topic;
            this.key = key;
            this.value = value;
        }
    }

    private KlogConfig(int kind) {
        this.kind = kind;
    }

    /**
     * Makes an empty configuration of a manager: {@code log.segment.bytes}, {@code log.retention.ms} and so on.
     *
     * @return all defaults
     */
    public static KlogConfig broker() {
        return new KlogConfig(Layout.CONFIG_BROKER);
    }

    /**
     * Makes an empty configuration of a topic: {@code segment.bytes}, {@code cleanup.policy} and so on.
     *
     * @return all defaults
     */
    public static KlogConfig topic() {
        return new KlogConfig(Layout.CONFIG_TOPIC);
    }

    /**
     * Every key that klog knows, of brokers and of topics.
     *
     * @return what is known of each
     */
    public static List<ConfigKey> keys() {
        List<ConfigKey> keys = new ArrayList<>();
        Frame frame = Frame.take();
        try {
            for (int index = 0;; index++) {
                int number = index;
                keys.add(new ConfigKey(frame.read((buffer, capacity, needed) ->
                        Library.calls().configDescribe(number, buffer, capacity, needed, frame.error()))));
            }
        } catch (KlogException end) {
            if (end.status() == Status.END) {
                return keys;
            }
            throw end;
        } finally {
            frame.give();
        }
    }

    /**
     * Sets a key.
     *
     * @param key Kafka's name of it
     * @param value as Kafka writes it
     * @return this
     */
    public KlogConfig set(String key, Object value) {
        return with(new Entry(null, Objects.requireNonNull(key, "key"), String.valueOf(Objects.requireNonNull(value, "value"))));
    }

    /**
     * Sets many keys.
     *
     * @param values by Kafka's names
     * @return this
     */
    public KlogConfig set(Map<String, ?> values) {
        for (Map.Entry<String, ?> entry : values.entrySet()) {
            set(entry.getKey(), entry.getValue());
        }
        return this;
    }

    /**
     * Sets a key for one topic, in a broker's configuration.
     *
     * @param topic the topic
     * @param key Kafka's name of the topic key
     * @param value as Kafka writes it
     * @return this
     */
    public KlogConfig setTopic(String topic, String key, Object value) {
        return with(new Entry(Objects.requireNonNull(topic, "topic"), Objects.requireNonNull(key, "key"),
                String.valueOf(Objects.requireNonNull(value, "value"))));
    }

    /**
     * Has a topic managed with the defaults: retention and compaction go by them. In a broker's configuration.
     *
     * @param topic the topic
     * @return this
     */
    public KlogConfig manageTopic(String topic) {
        return with(new Entry(Objects.requireNonNull(topic, "topic"), null, null));
    }

    /**
     * Takes in the text of a server.properties; lines {@code topic.NAME.KEY} are keys of a topic. Unknown keys are lines of
     * {@link KlogManager#report()}.
     *
     * @param properties the text
     * @return this
     */
    public KlogConfig load(String properties) {
        return with(new Entry(null, null, Objects.requireNonNull(properties, "properties")));
    }

    /**
     * The value of a key as it is in effect: set, or the default.
     *
     * @param key Kafka's name of it
     * @return the value; empty if it has none
     */
    public String get(String key) {
        Backend calls = Library.calls();
        long config = open();
        Frame frame = Frame.take();
        try {
            long name = frame.put(Objects.requireNonNull(key, "key"));
            long length = frame.length();
            return frame.read((buffer, capacity, needed) ->
                    calls.configGet(config, name, length, buffer, capacity, needed, frame.error()));
        } finally {
            frame.give();
            calls.configClose(config);
        }
    }

    private KlogConfig with(Entry entry) {
        entries.add(entry);
        try {
            Library.calls().configClose(open());
        } catch (RuntimeException refused) {
            entries.remove(entries.size() - 1);
            throw refused;
        }
        return this;
    }

    /** A native configuration with all that was set, for the caller to close. */
    long open() {
        Backend calls = Library.calls();
        Frame frame = Frame.take();
        long config = 0;
        boolean done = false;
        try {
            frame.check(calls.configCreate(kind, frame.number(), frame.error()));
            config = frame.numberValue();
            for (Entry entry : entries) {
                apply(calls, config, entry);
            }
            done = true;
            return config;
        } finally {
            frame.give();
            if (!done && config != 0) {
                calls.configClose(config);
            }
        }
    }

    private static void apply(Backend calls, long config, Entry entry) {
        Frame frame = Frame.take();
        try {
            if (entry.topic == null && entry.key == null) {
                long text = frame.put(latin(entry.value));
                frame.check(calls.configLoad(config, text, frame.length(), frame.error()));
                return;
            }
            long topic = frame.put(entry.topic);
            long topicLength = frame.length();
            long key = frame.put(entry.key);
            long keyLength = frame.length();
            long value = frame.put(entry.value);
            long valueLength = frame.length();
            frame.check(entry.topic == null
                    ? calls.configSet(config, key, keyLength, value, valueLength, frame.error())
                    : calls.configSetTopic(config, topic, topicLength, key, keyLength, value, valueLength, frame.error()));
        } finally {
            frame.give();
        }
    }

    /** As Kafka reads such files: ISO-8859-1, with escapes for other characters. */
    private static byte[] latin(String text) {
        StringBuilder escaped = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            escaped.append(c <= 0xff ? String.valueOf(c) : String.format("\\u%04x", (int) c));
        }
        return escaped.toString().getBytes(StandardCharsets.ISO_8859_1);
    }

    /** The native configuration of a possibly absent one; 0 is none. */
    static long open(KlogConfig config) {
        return config == null ? 0 : config.open();
    }

    static void close(long config) {
        if (config != 0) {
            Library.calls().configClose(config);
        }
    }
}
