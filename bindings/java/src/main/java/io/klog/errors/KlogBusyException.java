package io.klog.errors;

import io.klog.KlogException;

/** Something that takes one call at a time is in use. */
public class KlogBusyException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public KlogBusyException(Details details) {
        super(details);
    }
}
