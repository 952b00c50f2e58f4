package io.klog.errors;

import io.klog.KlogException;

/** The time passed before it was done. */
public class KlogTimeoutException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public KlogTimeoutException(Details details) {
        super(details);
    }
}
