package io.klog.errors;

import io.klog.KlogException;

/** A pass of the cleaner was ended, or may not begin. */
public class CleaningAbortedException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public CleaningAbortedException(Details details) {
        super(details);
    }
}
