package io.klog;

/** What kind of number a metric is. */
public enum MetricType {
    /** It rises and falls. */
    GAUGE,
    /** It only rises: Kafka's meter. */
    COUNTER,
    /** How often, of Kafka's timer; it only rises. */
    TIMER_COUNT,
    /** How long all of them took together, of Kafka's timer; it only rises. */
    TIMER_SUM
}
