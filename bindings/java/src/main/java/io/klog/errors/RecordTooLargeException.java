package io.klog.errors;

import io.klog.KlogException;

/** A batch is larger than {@code max.message.bytes}. */
public class RecordTooLargeException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public RecordTooLargeException(Details details) {
        super(details);
    }
}
