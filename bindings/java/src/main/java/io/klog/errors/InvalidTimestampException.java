package io.klog.errors;

import io.klog.KlogException;

/** A timestamp is outside the bounds that the topic allows. */
public class InvalidTimestampException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public InvalidTimestampException(Details details) {
        super(details);
    }
}
