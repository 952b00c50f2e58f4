package io.klog;

/** Who appends. */
public enum Origin {
    /** A client: offsets are assigned. */
    CLIENT(0),
    /** A follower: offsets are kept. */
    REPLICATION(1),
    /** A transaction or group coordinator. */
    COORDINATOR(2),
    /** The leader of a Raft log. */
    RAFT_LEADER(3);

    private final int code;

    Origin(int code) {
        this.code = code;
    }

    /** As in klog.h. */
    int code() {
        return code;
    }
}
