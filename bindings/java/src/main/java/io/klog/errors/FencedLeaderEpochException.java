package io.klog.errors;

import io.klog.KlogException;

/** A leader epoch is not the log's latest. */
public class FencedLeaderEpochException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public FencedLeaderEpochException(Details details) {
        super(details);
    }
}
