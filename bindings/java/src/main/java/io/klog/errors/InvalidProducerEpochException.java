package io.klog.errors;

import io.klog.KlogException;

/** A producer epoch is below the current one. */
public class InvalidProducerEpochException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public InvalidProducerEpochException(Details details) {
        super(details);
    }
}
