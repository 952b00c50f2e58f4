package io.klog.interop;

/** A row of the command table: its name, what fields follow it, and what answers it. */
record Command(String name, String usage, Action action) {
    /** Answers with the payload; any exception becomes an error answer. */
    @FunctionalInterface
    interface Action {
        String run(Arguments arguments) throws Exception;
    }
}
