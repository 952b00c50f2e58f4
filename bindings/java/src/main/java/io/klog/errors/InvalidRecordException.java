package io.klog.errors;

import io.klog.KlogException;

/** Records break a rule of their format or of the log; {@link #recordErrors()} tells which. */
public class InvalidRecordException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public InvalidRecordException(Details details) {
        super(details);
    }
}
