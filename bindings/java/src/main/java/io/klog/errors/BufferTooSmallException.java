package io.klog.errors;

import io.klog.KlogException;

/** The buffer does not hold the first batch; {@link #bytesNeeded()} says what does. */
public class BufferTooSmallException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public BufferTooSmallException(Details details) {
        super(details);
    }

    /**
     * How many bytes the buffer must hold.
     *
     * @return the bytes that must fit
     */
    public long bytesNeeded() {
        return position();
    }
}
