package io.klog.errors;

import io.klog.KlogException;

/** A topic name, partition or topic id cannot be, or contradicts what is there. */
public class InvalidTopicException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public InvalidTopicException(Details details) {
        super(details);
    }
}
