package io.klog.errors;

import io.klog.KlogException;

/** A defect of klog: close the manager; the next open recovers. */
public class KlogDefectException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public KlogDefectException(Details details) {
        super(details);
    }
}
