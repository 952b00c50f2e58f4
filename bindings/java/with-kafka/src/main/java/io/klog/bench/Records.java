package io.klog.bench;

/** What all contestants append and read: records of 12 bytes of key and 100 of value, 1,000 in a batch. */
final class Records {
    static final int BATCH = 1000;
    /** In the log that is scanned. */
    static final int SCANNED = 100_000;
    static final byte[] KEY = new byte[12];
    static final byte[] VALUE = new byte[100];
    static final long TIME = 1_700_000_000_000L;

    private Records() {
    }
}
