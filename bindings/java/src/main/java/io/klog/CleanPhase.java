package io.klog;

/** What a pass of the cleaner does. */
public enum CleanPhase {
    /** None runs. */
    IDLE(0),
    /** It reads the dirty part to learn the last offset of each key. */
    MAP(1),
    /** It writes segments anew. */
    COPY(2),
    /** New segments take the place of the old ones. */
    SWAP(3);

    private final int code;

    CleanPhase(int code) {
        this.code = code;
    }

    /** As in klog.h. */
    int code() {
        return code;
    }

    static CleanPhase of(int code) {
        return values()[code];
    }
}
