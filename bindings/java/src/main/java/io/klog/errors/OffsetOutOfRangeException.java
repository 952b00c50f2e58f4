package io.klog.errors;

import io.klog.KlogException;

/** An offset lies below the log start or above the log end. */
public class OffsetOutOfRangeException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public OffsetOutOfRangeException(Details details) {
        super(details);
    }
}
