package io.klog.errors;

import io.klog.KlogException;

/** The {@link io.klog.CancelToken} of the call was fired. */
public class KlogCancelledException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public KlogCancelledException(Details details) {
        super(details);
    }
}
