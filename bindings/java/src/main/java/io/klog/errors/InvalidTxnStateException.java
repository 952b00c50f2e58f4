package io.klog.errors;

import io.klog.KlogException;

/** The producer's transaction is in a state that does not allow this. */
public class InvalidTxnStateException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public InvalidTxnStateException(Details details) {
        super(details);
    }
}
