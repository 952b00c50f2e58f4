package io.klog.errors;

import io.klog.KlogException;

/** A producer's sequence number does not follow its last one. */
public class OutOfOrderSequenceException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public OutOfOrderSequenceException(Details details) {
        super(details);
    }
}
