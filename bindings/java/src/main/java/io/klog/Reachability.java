package io.klog;

/** Keeps buffers whose addresses the library works with from being collected during the call. */
final class Reachability {
    private Reachability() {
    }

    /** What is given is reachable up to here. Java 8 has no name for that; a lock that may be held elsewhere has to stay. */
    static void fence(Object used) {
        synchronized (used) {
            return;
        }
    }
}
