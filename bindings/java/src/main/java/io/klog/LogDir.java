package io.klog;

/** A directory of a manager. */
public final class LogDir {
    private final int index;
    private final String path;
    private final Status state;

    /** As the library tells of it. */
    LogDir(int index, String path, Status state) {
        this.index = index;
        this.path = path;
        this.state = state;
    }

    /**
     * Its number.
     *
     * @return its number
     */
    public int index() {
        return index;
    }

    /**
     * Its path.
     *
     * @return its path
     */
    public String path() {
        return path;
    }

    /**
     * {@link Status#OK}, or what took it offline.
     *
     * @return {@link Status#OK}, or what took it offline
     */
    public Status state() {
        return state;
    }

    @Override
    public String toString() {
        return "LogDir(index=" + index + ", path=" + path + ", state=" + state + ")";
    }
}
