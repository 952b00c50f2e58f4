package io.klog.errors;

import io.klog.KlogException;

/** The log end is not the expected one; {@link #offset()} is what it is. */
public class LogEndMismatchException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public LogEndMismatchException(Details details) {
        super(details);
    }
}
