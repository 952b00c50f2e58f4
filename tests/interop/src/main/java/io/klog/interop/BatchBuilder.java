package io.klog.interop;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

/** Builds a batch with Kafka's own builder, so that klog's encoder has something to be compared with. */
final class BatchBuilder {
    private static final int INITIAL_BYTES = 512;

    private BatchBuilder() { }

    static String build(Arguments arguments) {
        long baseOffset = arguments.int64("BASE");
        String codec = arguments.text("CODEC");
        TimestampType timestampType = timestampType(arguments.text("TSTYPE"));
        long appendTime = arguments.int64("APPEND_TIME");
        Options options = new Options(arguments.options());
        List<String> records = arguments.rest();
        ByteBufferOutputStream stream = new ByteBufferOutputStream(INITIAL_BYTES);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(stream,
            (byte) options.number("magic", RecordBatch.CURRENT_MAGIC_VALUE), compression(codec, options), timestampType,
            baseOffset, appendTime,
            options.number("producer", RecordBatch.NO_PRODUCER_ID),
            (short) options.number("pepoch", RecordBatch.NO_PRODUCER_EPOCH),
            (int) options.number("seq", RecordBatch.NO_SEQUENCE),
            options.number("txn", 0) == 1, false,
            (int) options.number("lepoch", RecordBatch.NO_PARTITION_LEADER_EPOCH), Integer.MAX_VALUE);
        options.end();
        try (builder) {
            for (String record : records) append(builder, record);
            return Text.hex(Text.copy(builder.build().buffer())) + "\n";
        }
    }

    /** {@code [OFFSET@]TS:KEY:VALUE[:HEADERS]}; without an offset the record gets the next one. */
    private static void append(MemoryRecordsBuilder builder, String text) {
        String[] parts = text.split(":", -1);
        if (parts.length < 3 || parts.length > 4) throw new BadRequest("bad record " + text);
        int at = parts[0].indexOf('@');
        long timestamp = Arguments.number("timestamp", parts[0].substring(at + 1));
        SimpleRecord record = new SimpleRecord(timestamp, bytes(parts[1]), bytes(parts[2]),
            headers(parts.length == 4 ? parts[3] : ""));
        if (at < 0) builder.append(record);
        else builder.appendWithOffset(Arguments.number("offset", parts[0].substring(0, at)), record);
    }

    /** {@code NAME=VALUE,...}, both in hex. */
    private static Header[] headers(String text) {
        List<Header> headers = new ArrayList<>();
        if (!text.isEmpty()) {
            for (String header : text.split(",", -1)) {
                String[] parts = header.split("=", -1);
                if (parts.length != 2) throw new BadRequest("bad header " + header);
                headers.add(new RecordHeader(ByteBuffer.wrap(Text.fromHex(parts[0])), buffer(parts[1])));
            }
        }
        return headers.toArray(new Header[0]);
    }

    private static byte[] bytes(String text) {
        return text.equals("null") ? null : Text.fromHex(text);
    }

    private static ByteBuffer buffer(String text) {
        byte[] bytes = bytes(text);
        return bytes == null ? null : ByteBuffer.wrap(bytes);
    }

    private static TimestampType timestampType(String text) {
        return switch (text) {
            case "create" -> TimestampType.CREATE_TIME;
            case "append" -> TimestampType.LOG_APPEND_TIME;
            case "none" -> TimestampType.NO_TIMESTAMP_TYPE;
            default -> throw new BadRequest("TSTYPE must be create, append or none, not " + text);
        };
    }

    private static Compression compression(String codec, Options options) {
        CompressionType type = CompressionType.forName(codec);
        if (!options.has("level")) return Compression.of(type).build();
        int level = (int) options.number("level", 0);
        return switch (type) {
            case GZIP -> Compression.gzip().level(level).build();
            case LZ4 -> Compression.lz4().level(level).build();
            case ZSTD -> Compression.zstd().level(level).build();
            default -> throw new BadRequest(codec + " has no levels");
        };
    }

    /** Optional settings; one that nobody asked for is an error. */
    private static final class Options {
        private final Map<String, String> left;

        Options(Map<String, String> given) {
            left = given;
        }

        boolean has(String key) {
            return left.containsKey(key);
        }

        long number(String key, long otherwise) {
            String value = left.remove(key);
            return value == null ? otherwise : Arguments.number(key, value);
        }

        void end() {
            if (!left.isEmpty()) throw new BadRequest("unknown settings " + left.keySet());
        }
    }
}
