package io.klog.errors;

import io.klog.KlogException;

/** The offsets of a follower append do not follow those of the log. */
public class OffsetsOutOfOrderException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public OffsetsOutOfOrderException(Details details) {
        super(details);
    }
}
