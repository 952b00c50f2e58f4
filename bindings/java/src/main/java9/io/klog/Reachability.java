package io.klog;

import java.lang.ref.Reference;

/** Keeps buffers whose addresses the library works with from being collected during the call. */
final class Reachability {
    private Reachability() {
    }

    /** What is given is reachable up to here. */
    static void fence(Object used) {
        Reference.reachabilityFence(used);
    }
}
