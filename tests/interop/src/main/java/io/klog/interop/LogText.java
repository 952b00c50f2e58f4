package io.klog.interop;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AbortedTxn;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.OffsetPosition;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.TimeIndex;
import org.apache.kafka.storage.internals.log.TimestampOffset;
import org.apache.kafka.storage.internals.log.UnifiedLog;

/** The canonical text of one open log: segments with indexes and batches, then the state kept beside them. */
final class LogText {
    private final UnifiedLog log;
    private final StringBuilder out;

    LogText(UnifiedLog log, StringBuilder out) {
        this.log = log;
        this.out = out;
    }

    /** Appends all lines of the log. Reads only, except that Kafka creates a missing index file when it is looked at. */
    void write() throws IOException {
        out.append("log ").append(log.topicPartition());
        out.append(" start=").append(log.logStartOffset());
        out.append(" end=").append(log.logEndOffset());
        out.append(" segments=").append(log.numberOfSegments());
        out.append(" recovery_point=").append(log.recoveryPoint());
        out.append(" topic_id=").append(log.topicId().map(Uuid::toString).orElse("none")).append('\n');
        for (LogSegment segment : log.logSegments()) writeSegment(segment);
        writeEpochs();
        writeProducers();
        writeAborted();
        out.append("lso ").append(log.lastStableOffset()).append('\n');
        writeFiles();
    }

    /** Appends the lines of the state beside the segments, then a {@code snapshot} line for each producer snapshot. */
    void writeState() throws IOException {
        writeEpochs();
        writeProducers();
        writeAborted();
        for (String name : fileNames()) {
            if (name.endsWith(".snapshot")) out.append("snapshot ").append(Long.parseLong(name.substring(0, 20))).append('\n');
        }
    }

    private void writeSegment(LogSegment segment) throws IOException {
        out.append("seg ").append(segment.baseOffset()).append(" size=").append(segment.size()).append('\n');
        OffsetIndex offsets = segment.offsetIndex();
        writeEntries(offsets.entries(), i -> {
            OffsetPosition entry = offsets.entry(i);
            return "oi " + entry.offset() + " " + entry.position();
        });
        TimeIndex times = segment.timeIndex();
        writeEntries(times.entries(), i -> {
            TimestampOffset entry = times.entry(i);
            return "ti " + entry.timestamp() + " " + entry.offset();
        });
        new BatchText(segment.log(), out).write();
    }

    /** A full-size index of zeros is a million equal lines, so a run of them is written once with its length. */
    private void writeEntries(int count, IntFunction<String> line) {
        for (int i = 0; i < count; ) {
            String first = line.apply(i);
            int run = 1;
            while (i + run < count && line.apply(i + run).equals(first)) run++;
            out.append(first);
            if (run > 1) out.append(" x").append(run);
            out.append('\n');
            i += run;
        }
    }

    private void writeEpochs() {
        log.leaderEpochCache().epochEntries().forEach(entry ->
            out.append("epoch ").append(entry.epoch()).append(' ').append(entry.startOffset()).append('\n'));
    }

    private void writeProducers() {
        Map<Long, ProducerStateEntry> producers = new TreeMap<>(log.producerStateManager().activeProducers());
        producers.forEach((id, entry) -> {
            List<BatchMetadata> batches = List.copyOf(entry.batchMetadata());
            BatchMetadata last = batches.isEmpty() ? null : batches.get(batches.size() - 1);
            var open = entry.currentTxnFirstOffset();
            out.append("producer ").append(id);
            out.append(" epoch=").append(entry.producerEpoch());
            out.append(" last_seq=").append(last == null ? -1 : last.lastSeq());
            out.append(" last_offset=").append(last == null ? -1 : last.lastOffset());
            out.append(" offset_delta=").append(last == null ? 0 : last.offsetDelta());
            out.append(" ts=").append(entry.lastTimestamp());
            out.append(" coordinator_epoch=").append(entry.coordinatorEpoch());
            out.append(" txn_first=").append(open.isPresent() ? Long.toString(open.getAsLong()) : "-").append('\n');
            for (BatchMetadata batch : batches) {
                out.append("pbatch ").append(id);
                out.append(" seq=").append(batch.firstSeq()).append("..").append(batch.lastSeq());
                out.append(" offset=").append(batch.firstOffset()).append("..").append(batch.lastOffset());
                out.append(" ts=").append(batch.timestamp()).append('\n');
            }
        });
    }

    private void writeAborted() {
        for (LogSegment segment : log.logSegments()) {
            for (AbortedTxn aborted : segment.txnIndex().allAbortedTxns()) {
                out.append("aborted ").append(segment.baseOffset());
                out.append(" producer=").append(aborted.producerId());
                out.append(" first=").append(aborted.firstOffset());
                out.append(" last=").append(aborted.lastOffset());
                out.append(" lso=").append(aborted.lastStableOffset()).append('\n');
            }
        }
    }

    private void writeFiles() throws IOException {
        for (String name : fileNames()) out.append("file ").append(name).append('\n');
    }

    /** What waits for its removal does not count. */
    private List<String> fileNames() throws IOException {
        List<String> names = new ArrayList<>();
        try (var entries = Files.newDirectoryStream(log.dir().toPath())) {
            for (Path entry : entries) names.add(entry.getFileName().toString());
        }
        names.removeIf(name -> name.endsWith(".deleted"));
        Collections.sort(names, Text.BY_BYTES);
        return names;
    }
}
