package io.klog;

/** A metric and its value. */
public final class Metric {
    private final String name;
    private final String unit;
    private final String help;
    private final MetricType type;
    private final long value;

    /** As the library tells of it. */
    Metric(String name, String unit, String help, MetricType type, long value) {
        this.name = name;
        this.unit = unit;
        this.help = help;
        this.type = type;
        this.value = value;
    }

    /**
     * Kafka's name: that of the MBean, without its tags.
     *
     * @return kafka's name: that of the MBean, without its tags
     */
    public String name() {
        return name;
    }

    /**
     * Its unit; empty for a plain number.
     *
     * @return its unit
     */
    public String unit() {
        return unit;
    }

    /**
     * What it says, in a sentence.
     *
     * @return what it says, in a sentence
     */
    public String help() {
        return help;
    }

    /**
     * What kind of number it is.
     *
     * @return what kind of number it is
     */
    public MetricType type() {
        return type;
    }

    /**
     * Its value.
     *
     * @return its value
     */
    public long value() {
        return value;
    }

    @Override
    public String toString() {
        return "Metric(name=" + name + ", unit=" + unit + ", help=" + help + ", type=" + type + ", value=" + value + ")";
    }
}
