package io.klog.errors;

import io.klog.KlogException;

/** A log directory does not exist or is not one. */
public class LogDirNotFoundException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public LogDirNotFoundException(Details details) {
        super(details);
    }
}
