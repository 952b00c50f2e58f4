package io.klog;

/** The packed record buffer, format version 1: docs/format.md describes it. All numbers are little-endian. */
final class Packed {
    static final int MAGIC = 0x3152504B;
    static final short VERSION = 1;

    static final int HEAD = 32;
    static final int HEAD_VERSION = 4;
    static final int HEAD_LENGTH = 6;
    static final int HEAD_ENTRIES = 8;
    static final int HEAD_OFFSET = 16;
    static final int HEAD_BYTES = 24;

    static final int ENTRY = 48;
    static final int ENTRY_KIND = 4;
    static final int ENTRY_FLAGS = 5;
    static final int ENTRY_OFFSET = 8;
    static final int ENTRY_TIMESTAMP = 16;
    static final int ENTRY_KEY_LENGTH = 24;
    static final int ENTRY_VALUE_LENGTH = 28;
    static final int ENTRY_HEADER_BYTES = 32;
    static final int ENTRY_HEADER_COUNT = 36;
    static final int ENTRY_EPOCH = 40;
    static final int ENTRY_SEQUENCE = 44;

    static final byte KIND_RECORD = 1;
    static final int HAS_KEY = 1;
    static final int HAS_VALUE = 2;
    static final int CONTROL = 4;
    static final int TRANSACTIONAL = 8;
    static final int LOG_APPEND_TIME = 16;

    /** The length of a header's value that is null. */
    static final int NULL_LENGTH = -1;

    private Packed() {
    }

    /** Entries begin at multiples of 8. */
    static long padded(long length) {
        return (length + 7) & ~7L;
    }
}
