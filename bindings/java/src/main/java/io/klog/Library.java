package io.klog;

/** The native library, loaded when it is first needed. */
final class Library {
    private Library() {
    }

    static Backend calls() {
        Backend calls = Loaded.CALLS;
        if (calls == null) {
            // A new error each time, with all that is known: the first one may have been swallowed somewhere.
            UnsatisfiedLinkError error = new UnsatisfiedLinkError(Loaded.FAILURE.getMessage());
            error.initCause(Loaded.FAILURE);
            throw error;
        }
        return calls;
    }

    /** Constants, so that the compiler sees which backend it is. */
    private static final class Loaded {
        static final Backend CALLS;
        static final Throwable FAILURE;

        static {
            Backend calls = null;
            Throwable failure = null;
            try {
                calls = check(NativeLoader.load());
            } catch (UnsatisfiedLinkError | RuntimeException error) {
                failure = error;
            }
            CALLS = calls;
            FAILURE = failure;
        }

        private Loaded() {
        }

        /** The offsets in {@link Layout} must be those of the library. No buffer is asked for: there is no frame yet. */
        private static Backend check(Backend calls) {
            if (calls.abiCheck(Layout.ABI, Layout.LAYOUT_HASH, 0) != 0) {
                throw new UnsatisfiedLinkError("the classes of klog are of ABI " + Layout.ABI + ", layout "
                        + Long.toHexString(Layout.LAYOUT_HASH) + "; the library is of version " + calls.versionString()
                        + " and does not fit: take both from one build");
            }
            return calls;
        }
    }
}
