package io.klog.errors;

import io.klog.KlogException;

/** Memory could not be had, or a limit was reached. */
public class ResourceLimitException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public ResourceLimitException(Details details) {
        super(details);
    }
}
