package io.klog.errors;

import io.klog.KlogException;

/** An append is larger than a segment. */
public class RecordBatchTooLargeException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public RecordBatchTooLargeException(Details details) {
        super(details);
    }
}
