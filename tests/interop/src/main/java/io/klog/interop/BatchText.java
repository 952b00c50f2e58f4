package io.klog.interop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.Locale;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.CloseableIterator;

/**
 * The canonical text of the batches and records in a segment's file, as Kafka's own reader finds them. Each field comes
 * from Kafka's accessors, except the base timestamp: for a batch with a delete horizon the accessor hides the raw field.
 */
final class BatchText {
    /** Where a batch of magic 2 keeps its base timestamp. */
    private static final int BASE_TIMESTAMP_OFFSET = 27;

    private final FileRecords file;
    private final StringBuilder out;

    BatchText(FileRecords file, StringBuilder out) {
        this.file = file;
        this.out = out;
    }

    /** Appends a line for every batch and record, and one for what no reader gets past. */
    void write() throws IOException {
        int position = 0;
        Iterator<FileChannelRecordBatch> batches = file.batches().iterator();
        while (true) {
            FileChannelRecordBatch batch;
            try {
                if (!batches.hasNext()) break;
                batch = batches.next();
            } catch (CorruptRecordException e) {
                out.append("bad pos=").append(position).append('\n');
                return;
            }
            try {
                writeBatch(batch);
            } catch (RuntimeException e) {
                throw new IllegalStateException("batch at position " + position + " of " + file.file(), e);
            }
            position = batch.position() + batch.sizeInBytes();
        }
        int rest = file.sizeInBytes() - position;
        if (rest > 0) out.append("rest pos=").append(position).append(" bytes=").append(rest).append('\n');
    }

    private void writeBatch(FileChannelRecordBatch batch) throws IOException {
        boolean v2 = batch.magic() >= RecordBatch.MAGIC_VALUE_V2;
        boolean valid = batch.isValid();
        out.append("batch pos=").append(batch.position());
        if (v2) {
            out.append(" base=").append(batch.baseOffset());
            out.append(" last=").append(batch.lastOffset());
            out.append(" count=").append(batch.countOrNull());
        } else {
            // The first inner offset and the number of records are only to be had by reading the records.
            out.append(" base=").append(valid ? Long.toString(batch.baseOffset()) : "-");
            out.append(" last=").append(batch.lastOffset());
            out.append(" count=").append(valid ? Integer.toString(countRecords(batch)) : "-");
        }
        out.append(" magic=").append(batch.magic());
        out.append(" codec=").append(batch.compressionType().name);
        out.append(" tstype=").append(switch (batch.timestampType()) {
            case CREATE_TIME -> "create";
            case LOG_APPEND_TIME -> "append";
            case NO_TIMESTAMP_TYPE -> "none";
        });
        out.append(" base_ts=").append(v2 ? Long.toString(rawBaseTimestamp(batch)) : "-");
        out.append(" max_ts=").append(batch.maxTimestamp());
        var horizon = batch.deleteHorizonMs();
        out.append(" horizon=").append(horizon.isPresent() ? Long.toString(horizon.getAsLong()) : "-");
        out.append(" producer=").append(v2 ? Long.toString(batch.producerId()) : "-");
        out.append(" pepoch=").append(v2 ? Short.toString(batch.producerEpoch()) : "-");
        out.append(" seq=").append(v2 ? Integer.toString(batch.baseSequence()) : "-");
        out.append(" lepoch=").append(v2 ? Integer.toString(batch.partitionLeaderEpoch()) : "-");
        out.append(" txn=").append(Text.flag(batch.isTransactional()));
        out.append(" ctl=").append(Text.flag(batch.isControlBatch()));
        out.append(" size=").append(batch.sizeInBytes());
        out.append(" crc=").append(Text.hex32(batch.checksum()));
        out.append(" crc_ok=").append(Text.flag(valid)).append('\n');
        if (valid) writeRecords(batch);
    }

    private long rawBaseTimestamp(FileChannelRecordBatch batch) throws IOException {
        ByteBuffer field = ByteBuffer.allocate(Long.BYTES);
        file.readInto(field, batch.position() + BASE_TIMESTAMP_OFFSET);
        return field.getLong(0);
    }

    private static int countRecords(RecordBatch batch) {
        int count = 0;
        for (Record ignored : batch) count++;
        return count;
    }

    private void writeRecords(RecordBatch batch) {
        try (CloseableIterator<Record> records = batch.streamingIterator(BufferSupplier.NO_CACHING)) {
            while (records.hasNext()) {
                if (batch.isControlBatch()) writeControl(records.next());
                else writeRecord(records.next());
            }
        }
    }

    private void writeRecord(Record record) {
        out.append("rec ").append(record.offset());
        out.append(" ts=").append(record.timestamp());
        out.append(" key=").append(Text.bytes(record.key()));
        out.append(" value=").append(Text.bytes(record.value()));
        String separator = " headers=";
        for (Header header : record.headers()) {
            out.append(separator).append(Text.bytes(Text.utf8(header.key())));
            out.append(':').append(Text.bytes(header.value()));
            separator = ",";
        }
        out.append('\n');
    }

    private void writeControl(Record record) {
        // Key: version, type. Value of a transaction marker: version, coordinator epoch.
        ByteBuffer key = record.key();
        short type = key.getShort(key.position() + Short.BYTES);
        ControlRecordType kind = ControlRecordType.fromTypeId(type);
        boolean marker = kind == ControlRecordType.COMMIT || kind == ControlRecordType.ABORT;
        out.append("ctl ").append(record.offset());
        out.append(" ts=").append(record.timestamp());
        out.append(" key_version=").append(key.getShort(key.position()));
        out.append(" type=").append(marker ? kind.name().toLowerCase(Locale.ROOT) : Short.toString(type));
        if (marker) {
            ByteBuffer value = record.value();
            out.append(" value_version=").append(value.getShort(value.position()));
            out.append(" coordinator_epoch=").append(value.getInt(value.position() + Short.BYTES));
        } else {
            out.append(" value=").append(Text.bytes(record.value()));
        }
        out.append('\n');
    }
}
