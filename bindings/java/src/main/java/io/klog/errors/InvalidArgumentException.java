package io.klog.errors;

import io.klog.KlogException;

/** An argument is outside what the operation accepts. */
public class InvalidArgumentException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public InvalidArgumentException(Details details) {
        super(details);
    }
}
