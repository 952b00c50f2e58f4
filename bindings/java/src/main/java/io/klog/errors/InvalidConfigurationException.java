package io.klog.errors;

import io.klog.KlogException;

/** A configuration key is unknown, or its value is refused. */
public class InvalidConfigurationException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public InvalidConfigurationException(Details details) {
        super(details);
    }
}
