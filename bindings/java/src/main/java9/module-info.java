/** Apache Kafka's log as a library: {@link io.klog.KlogManager} opens log directories. */
module io.klog {
    requires java.logging;

    exports io.klog;
    exports io.klog.errors;
}
