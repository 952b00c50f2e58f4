package io.klog.errors;

import io.klog.KlogException;

/** The object, or what it belongs to, is closed. */
public class KlogClosedException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public KlogClosedException(Details details) {
        super(details);
    }
}
