package io.klog.errors;

import io.klog.KlogException;

/** Message format 0 or 1 where 2 is required. */
public class UnsupportedForMessageFormatException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public UnsupportedForMessageFormatException(Details details) {
        super(details);
    }
}
