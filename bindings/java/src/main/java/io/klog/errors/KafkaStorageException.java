package io.klog.errors;

import io.klog.KlogException;

/** Reading or writing failed; {@link #errno()} and {@link #path()} tell of it. */
public class KafkaStorageException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public KafkaStorageException(Details details) {
        super(details);
    }
}
