package io.klog;

import java.util.HashMap;
import java.util.Map;

/** A configuration key that klog knows, under Kafka's name. */
public final class ConfigKey {
    private final Map<String, String> fields = new HashMap<>();

    /** Of lines, each a field's name, a colon and its value. */
    ConfigKey(String lines) {
        for (String line : lines.split("\n")) {
            int colon = line.indexOf(": ");
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 2));
            }
        }
    }

    private String field(String name) {
        String value = fields.get(name);
        return value == null ? "" : value;
    }

    /**
     * Its name.
     *
     * @return as in Kafka
     */
    public String name() {
        return field("key");
    }

    /**
     * Whether it is one of topics; else it is one of brokers. Some names are both.
     *
     * @return false for {@link KlogConfig#broker()}
     */
    public boolean isOfTopic() {
        return field("scope").equals("topic");
    }

    /**
     * The type of its values.
     *
     * @return as Kafka names it, such as INT, LONG, BOOLEAN
     */
    public String type() {
        return field("type");
    }

    /**
     * What counts where it is not set.
     *
     * @return as Kafka writes it; null if there is none
     */
    public String defaultValue() {
        return field("default").equals("null") ? null : field("default");
    }

    /**
     * The values that it takes.
     *
     * @return empty if its type says it
     */
    public String range() {
        return field("range");
    }

    /**
     * What it is for, in klog.
     *
     * @return a sentence
     */
    public String text() {
        return field("doc");
    }

    @Override
    public String toString() {
        return name() + "=" + field("default");
    }
}
