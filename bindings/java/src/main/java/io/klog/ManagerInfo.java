package io.klog;

/** A manager at one moment, and what its opening did. */
public final class ManagerInfo {
    private final long logs;
    private final long segmentsRecovered;
    private final long bytesTruncated;
    private final long indexesRebuilt;
    private final int dirsOnline;
    private final int dirsOffline;
    private final long openHandles;
    private final long pinnedBytes;

    /** Takes what a call wrote into its frame. */
    ManagerInfo(Frame frame) {
        logs = frame.outLong(Layout.MANAGER_INFO_LOGS);
        segmentsRecovered = frame.outLong(Layout.MANAGER_INFO_SEGMENTS_RECOVERED);
        bytesTruncated = frame.outLong(Layout.MANAGER_INFO_BYTES_TRUNCATED);
        indexesRebuilt = frame.outLong(Layout.MANAGER_INFO_INDEXES_REBUILT);
        dirsOnline = frame.outInt(Layout.MANAGER_INFO_DIRS_ONLINE);
        dirsOffline = frame.outInt(Layout.MANAGER_INFO_DIRS_OFFLINE);
        openHandles = frame.outLong(Layout.MANAGER_INFO_OPEN_HANDLES);
        pinnedBytes = frame.outLong(Layout.MANAGER_INFO_PINNED_BYTES);
    }

    /**
     * Logs that are open.
     *
     * @return logs that are open
     */
    public long logs() {
        return logs;
    }

    /**
     * Segments that were recovered by the opening.
     *
     * @return segments that were recovered by the opening
     */
    public long segmentsRecovered() {
        return segmentsRecovered;
    }

    /**
     * Bytes that recovery cut off.
     *
     * @return bytes that recovery cut off
     */
    public long bytesTruncated() {
        return bytesTruncated;
    }

    /**
     * Segments whose indexes were made anew.
     *
     * @return segments whose indexes were made anew
     */
    public long indexesRebuilt() {
        return indexesRebuilt;
    }

    /**
     * Directories that work.
     *
     * @return directories that work
     */
    public int dirsOnline() {
        return dirsOnline;
    }

    /**
     * Directories that do not.
     *
     * @return directories that do not
     */
    public int dirsOffline() {
        return dirsOffline;
    }

    /**
     * Handles of this process that are open, of every kind.
     *
     * @return handles of this process that are open, of every kind
     */
    public long openHandles() {
        return openHandles;
    }

    /**
     * Bytes that views of this manager's logs hold.
     *
     * @return in bytes
     */
    public long pinnedBytes() {
        return pinnedBytes;
    }

    @Override
    public String toString() {
        return "ManagerInfo(logs=" + logs
                + ", segmentsRecovered=" + segmentsRecovered
                + ", bytesTruncated=" + bytesTruncated
                + ", indexesRebuilt=" + indexesRebuilt
                + ", dirsOnline=" + dirsOnline
                + ", dirsOffline=" + dirsOffline
                + ", openHandles=" + openHandles
                + ", pinnedBytes=" + pinnedBytes + ")";
    }
}
