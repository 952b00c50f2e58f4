package io.klog;

/** What a checkpoint holds. */
public enum CheckpointType {
    /** Up to where logs were flushed. */
    RECOVERY_POINT,
    /** Where logs start. */
    LOG_START
}
