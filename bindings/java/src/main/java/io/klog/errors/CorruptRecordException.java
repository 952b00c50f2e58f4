package io.klog.errors;

import io.klog.KlogException;

/** What was given, or read from a file, is damaged: a checksum, size or magic byte is wrong. */
public class CorruptRecordException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public CorruptRecordException(Details details) {
        super(details);
    }
}
