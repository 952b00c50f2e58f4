package io.klog;

/** How far the opening of a log directory is. */
public final class OpenProgress {
    private final long logsTotal;
    private final long logsLeft;
    private final long segmentsLeft;
    private final long bytesTotal;
    private final long bytesDone;

    /** Takes what a call wrote into its frame. */
    OpenProgress(Frame frame) {
        logsTotal = frame.outLong(Layout.OPEN_PROGRESS_LOGS_TOTAL);
        logsLeft = frame.outLong(Layout.OPEN_PROGRESS_LOGS_LEFT);
        segmentsLeft = frame.outLong(Layout.OPEN_PROGRESS_SEGMENTS_LEFT);
        bytesTotal = frame.outLong(Layout.OPEN_PROGRESS_BYTES_TOTAL);
        bytesDone = frame.outLong(Layout.OPEN_PROGRESS_BYTES_DONE);
    }

    /**
     * Logs that were found in it; 0 until it was looked at.
     *
     * @return logs that were found in it
     */
    public long logsTotal() {
        return logsTotal;
    }

    /**
     * Those that are not loaded yet.
     *
     * @return those that are not loaded yet
     */
    public long logsLeft() {
        return logsLeft;
    }

    /**
     * Segments to be read again of the logs that are being loaded.
     *
     * @return segments to be read again of the logs that are being loaded
     */
    public long segmentsLeft() {
        return segmentsLeft;
    }

    /**
     * Bytes to be read again of all logs that were looked at so far.
     *
     * @return bytes to be read again of all logs that were looked at so far
     */
    public long bytesTotal() {
        return bytesTotal;
    }

    /**
     * Those that were read.
     *
     * @return those that were read
     */
    public long bytesDone() {
        return bytesDone;
    }

    @Override
    public String toString() {
        return "OpenProgress(logsTotal=" + logsTotal
                + ", logsLeft=" + logsLeft
                + ", segmentsLeft=" + segmentsLeft
                + ", bytesTotal=" + bytesTotal
                + ", bytesDone=" + bytesDone + ")";
    }
}
