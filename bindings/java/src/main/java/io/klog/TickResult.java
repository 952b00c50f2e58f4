package io.klog;

/** What a tick did. */
public final class TickResult {
    private final int tasksRun;
    private final long nextDueMs;

    /** Takes what a call wrote into its frame. */
    TickResult(Frame frame) {
        tasksRun = frame.outInt(Layout.TICK_RESULT_TASKS_RUN);
        nextDueMs = frame.outLong(Layout.TICK_RESULT_NEXT_DUE_MS);
    }

    /**
     * How many tasks were run.
     *
     * @return how many tasks were run
     */
    public int tasksRun() {
        return tasksRun;
    }

    /**
     * When the next one is due, in ms since 1970.
     *
     * @return when the next one is due, in ms since 1970
     */
    public long nextDueMs() {
        return nextDueMs;
    }

    @Override
    public String toString() {
        return "TickResult(tasksRun=" + tasksRun
                + ", nextDueMs=" + nextDueMs + ")";
    }
}
