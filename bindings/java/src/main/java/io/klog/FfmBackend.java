package io.klog;

/** What stands here below Java 22, where java.lang.foreign is not: nothing. The jar has another one for later versions. */
final class FfmBackend {
    private FfmBackend() {
    }

    /** Whether this class is the one that can call. */
    static boolean isAvailable() {
        return false;
    }

    /** Cannot be. */
    static Backend open(String path) {
        throw new UnsatisfiedLinkError("java.lang.foreign needs Java 22");
    }

    /** Cannot be. */
    static Backend openSystem(String library) {
        return open(library);
    }
}
