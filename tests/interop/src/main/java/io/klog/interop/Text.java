package io.klog.interop;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.zip.CRC32C;

/** How values look in answers: the same everywhere, so that a test can compare answers with klog's own text. */
final class Text {
    /** Longer keys, values and headers are shown as length and checksum. */
    private static final int MAX_HEX_BYTES = 64;

    private static final HexFormat HEX = HexFormat.of();

    /** The order of names in the canonical text: by the bytes of their UTF-8 form. */
    static final Comparator<String> BY_BYTES = Comparator.comparing(Text::utf8, Arrays::compareUnsigned);

    private Text() { }

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String hex(byte[] bytes) {
        return HEX.formatHex(bytes);
    }

    static byte[] fromHex(String text) {
        try {
            return HEX.parseHex(text);
        } catch (IllegalArgumentException e) {
            throw new BadRequest("not hex: " + e.getMessage());
        }
    }

    static String hex32(long value) {
        return HEX.toHexDigits((int) value);
    }

    static String crc32c(byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return hex32(crc.getValue());
    }

    /** BYTES of the canonical text. */
    static String bytes(byte[] bytes) {
        if (bytes == null) return "null";
        if (bytes.length == 0) return "empty";
        if (bytes.length <= MAX_HEX_BYTES) return hex(bytes);
        return "#" + bytes.length + "/" + crc32c(bytes);
    }

    static String bytes(ByteBuffer buffer) {
        return bytes(copy(buffer));
    }

    static byte[] copy(ByteBuffer buffer) {
        if (buffer == null) return null;
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    static int flag(boolean set) {
        return set ? 1 : 0;
    }

    /** Keeps one fact on one line. */
    static String oneLine(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r");
    }
}
