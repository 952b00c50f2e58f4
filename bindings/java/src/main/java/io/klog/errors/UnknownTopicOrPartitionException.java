package io.klog.errors;

import io.klog.KlogException;

/** There is no such log, or it was deleted. */
public class UnknownTopicOrPartitionException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public UnknownTopicOrPartitionException(Details details) {
        super(details);
    }
}
