package io.klog.errors;

import io.klog.KlogException;

/** The manager was opened for looking only. */
public class ReadOnlyException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public ReadOnlyException(Details details) {
        super(details);
    }
}
