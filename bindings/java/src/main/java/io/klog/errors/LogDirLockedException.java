package io.klog.errors;

import io.klog.KlogException;

/** Another process or manager owns the directory. */
public class LogDirLockedException extends KlogException {
    private static final long serialVersionUID = 1L;

    /**
     * Made by klog.
     *
     * @param details what is known of the failure
     */
    public LogDirLockedException(Details details) {
        super(details);
    }
}
