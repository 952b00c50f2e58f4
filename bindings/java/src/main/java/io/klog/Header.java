package io.klog;

import java.util.Arrays;
import java.util.Objects;

/** A header of a record. */
public final class Header {
    private final String key;
    private final byte[] value;

    /**
     * Makes a header.
     *
     * @param key its name
     * @param value its value; may be null
     */
    public Header(String key, byte[] value) {
        this.key = Objects.requireNonNull(key, "key");
        this.value = value;
    }

    /**
     * The name.
     *
     * @return the name
     */
    public String key() {
        return key;
    }

    /**
     * The value, not copied.
     *
     * @return the value; may be null
     */
    public byte[] value() {
        return value;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Header && ((Header) other).key.equals(key) && Arrays.equals(((Header) other).value, value);
    }

    @Override
    public int hashCode() {
        return 31 * key.hashCode() + Arrays.hashCode(value);
    }

    @Override
    public String toString() {
        return key + "=" + (value == null ? "null" : value.length + " bytes");
    }
}
