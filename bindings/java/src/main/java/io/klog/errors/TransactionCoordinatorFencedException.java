package io.klog.errors;

import io.klog.KlogException;

/** A transaction marker is of an older coordinator. */
public class TransactionCoordinatorFencedException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public TransactionCoordinatorFencedException(Details details) {
        super(details);
    }
}
