package io.klog.errors;

import io.klog.KlogException;

/** The compression codec is unknown or not allowed here. */
public class UnsupportedCompressionTypeException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public UnsupportedCompressionTypeException(Details details) {
        super(details);
    }
}
