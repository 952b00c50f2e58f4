package io.klog.interop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.message.AbortedTxn;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.FileRecords.TimestampAndOffset;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;

/**
 * Drives single logs of Kafka step by step, so that a test can do the same to klog and compare. The caller names each
 * open log; its clock stands still between {@code now} commands and all that Kafka does in the background is done, or
 * dropped, when a command returns.
 */
final class LogDriver {
    /** An open log, its clock, and every segment that it had when a command came. */
    private record Driven(UnifiedLog log, ManualTime time, Set<LogSegment> seen) {
        Driven(UnifiedLog log, ManualTime time) {
            this(log, time, Collections.newSetFromMap(new IdentityHashMap<>()));
        }

        /** Kafka closes a removed segment in a delayed task, which never runs here: it is done at the end instead. */
        void drop() {
            seen.removeAll(log.logSegments());
            for (LogSegment removed : seen) {
                if (!removed.deleted()) Utils.closeQuietly(removed, "removed segment");
            }
            Logs.drop(log);
        }
    }

    /** Kafka's "unknown": markers written by a leader must state a version, data need not. */
    private static final short NO_TRANSACTION_VERSION = -1;

    private final Map<String, Driven> logs = new HashMap<>();

    /** Why each log rolled last, in Kafka's words, until somebody asks. */
    private final Map<String, String> rolls = new HashMap<>();

    private UnifiedLog log(Arguments arguments) {
        return driven(arguments.text("ID")).log();
    }

    private Driven driven(String id) {
        Driven found = logs.get(id);
        if (found == null) throw new BadRequest("no open log " + id);
        found.seen().addAll(found.log().logSegments());
        return found;
    }

    /** Opens or creates the log of a partition below DIR. */
    String open(Arguments arguments) throws IOException {
        String id = arguments.text("ID");
        Path dir = arguments.path("DIR").resolve(arguments.text("TOPIC-PARTITION"));
        if (logs.containsKey(id)) throw new BadRequest("log " + id + " is open already");
        Map<String, String> config = arguments.options();
        arguments.end();
        boolean clean = Arguments.flag("clean", take(config, "clean"));
        long recoveryPoint = Arguments.number("rp", take(config, "rp"));
        long start = Arguments.number("start", take(config, "start"));
        ManualTime time = new ManualTime(Arguments.number("now", take(config, "now")));
        Files.createDirectories(dir);
        UnifiedLog log = Logs.open(dir, new LogConfig(config), start, recoveryPoint, clean, time);
        logs.put(id, new Driven(log, time));
        return describe(log);
    }

    private static String take(Map<String, String> options, String key) {
        String value = options.remove(key);
        if (value == null) throw new BadRequest("missing argument " + key + "=");
        return value;
    }

    /** Sets the clock. */
    String now(Arguments arguments) {
        Driven driven = driven(arguments.text("ID"));
        driven.time().set(arguments.int64("MS"));
        arguments.end();
        return "";
    }

    /** Appends as the leader does: offsets and timestamps are assigned. */
    String append(Arguments arguments) {
        String id = arguments.text("ID");
        UnifiedLog log = driven(id).log();
        int epoch = arguments.int32("EPOCH");
        MemoryRecords records = records(arguments.text("HEXBATCHES"));
        AppendOrigin origin =
            arguments.more() ? arguments.choice("ORIGIN", AppendOrigin.class) : AppendOrigin.CLIENT;
        short version = arguments.more() ? (short) arguments.int32("TXN_VERSION") : NO_TRANSACTION_VERSION;
        arguments.end();
        return appended(id, () -> log.appendAsLeader(records, epoch, origin, RequestLocal.noCaching(),
            VerificationGuard.SENTINEL, version));
    }

    /** Appends as a follower does: batches are taken as they are. */
    String follow(Arguments arguments) {
        String id = arguments.text("ID");
        UnifiedLog log = driven(id).log();
        int epoch = arguments.int32("EPOCH");
        MemoryRecords records = records(arguments.text("HEXBATCHES"));
        arguments.end();
        return appended(id, () -> log.appendAsFollower(records, epoch));
    }

    /** A fresh buffer each time, as a leader append writes into it. */
    private static MemoryRecords records(String hex) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(Text.fromHex(hex)));
    }

    private String appended(String id, Supplier<LogAppendInfo> append) {
        LogAppendInfo info;
        LogCapture.takeRoll();
        try {
            info = append.get();
        } finally {
            String roll = LogCapture.takeRoll();
            if (roll != null) rolls.put(id, roll);
        }
        return "first=" + info.firstOffset() + " last=" + info.lastOffset() + " append_time=" + info.logAppendTime()
            + " max_ts=" + info.maxTimestamp() + " start=" + info.logStartOffset() + "\n";
    }

    /** Rolls a new segment. */
    String roll(Arguments arguments) throws IOException {
        UnifiedLog log = log(arguments);
        Optional<Long> expected = arguments.more() ? Optional.of(arguments.int64("EXPECTED")) : Optional.empty();
        arguments.end();
        return "base=" + log.roll(expected).baseOffset() + "\n";
    }

    /** Flushes up to the log end; with 1, an empty active segment too, as a shutdown does. */
    String flush(Arguments arguments) {
        UnifiedLog log = log(arguments);
        boolean inclusive = arguments.more() && arguments.flag("INCLUSIVE");
        arguments.end();
        log.flush(inclusive);
        return "recovery_point=" + log.recoveryPoint() + "\n";
    }

    /** Reads a slice; tells where it lies and what it holds, with {@code data} also its bytes. */
    String read(Arguments arguments) throws IOException {
        UnifiedLog log = log(arguments);
        long from = arguments.int64("FROM");
        int max = arguments.int32("MAX");
        FetchIsolation isolation = arguments.choice("ISOLATION", FetchIsolation.class);
        boolean minOne = arguments.flag("MINONE");
        boolean data = arguments.more() && arguments.word("data");
        arguments.end();
        return readResult(log.read(from, max, isolation, minOne), data);
    }

    private static String readResult(FetchDataInfo info, boolean data) throws IOException {
        LogOffsetMetadata at = info.fetchOffsetMetadata;
        byte[] bytes = bytes(info.records);
        int batches = 0;
        long first = -1;
        long last = -1;
        try {
            for (RecordBatch batch : info.records.batches()) {
                if (batches++ == 0) first = batch.baseOffset();
                last = batch.lastOffset();
            }
        } catch (CorruptRecordException e) {
            // The slice holds garbage from here on; the read itself succeeded.
        }
        String aborted = info.abortedTransactions.map(list -> list.isEmpty() ? "-" : list.stream()
            .map(txn -> txn.producerId() + ":" + txn.firstOffset()).collect(Collectors.joining(","))).orElse("none");
        return "offset=" + at.messageOffset + " seg=" + at.segmentBaseOffset + " pos=" + at.relativePositionInSegment
            + " bytes=" + bytes.length + " batches=" + batches + " first=" + first + " last=" + last
            + " incomplete=" + Text.flag(info.firstEntryIncomplete) + " aborted=" + aborted
            + " crc=" + Text.crc32c(bytes) + (data ? " data=" + Text.hex(bytes) : "") + "\n";
    }

    private static byte[] bytes(Records records) throws IOException {
        if (records instanceof MemoryRecords memory) return Text.copy(memory.buffer());
        ByteBuffer buffer = ByteBuffer.allocate(records.sizeInBytes());
        ((FileRecords) records).readInto(buffer, 0);
        return buffer.array();
    }

    /** Looks up an offset by timestamp, or by one of the special targets below zero. */
    String timestamp(Arguments arguments) {
        UnifiedLog log = log(arguments);
        long target = arguments.int64("TS");
        arguments.end();
        return log.fetchOffsetByTimestamp(target, Optional.empty()).timestampAndOffsetOpt()
            .map(LogDriver::found).orElse("none\n");
    }

    private static String found(TimestampAndOffset result) {
        return "offset=" + result.offset + " ts=" + result.timestamp
            + " epoch=" + result.leaderEpoch.map(String::valueOf).orElse("-") + "\n";
    }

    /** The transaction index entries that overlap [FROM, UPTO). */
    String aborted(Arguments arguments) {
        UnifiedLog log = log(arguments);
        long from = arguments.int64("FROM");
        long upTo = arguments.int64("UPTO");
        arguments.end();
        List<AbortedTxn> found = log.collectAbortedTransactions(from, upTo);
        return (found.isEmpty() ? "-" : found.stream().map(txn -> txn.producerId() + ":" + txn.firstOffset() + ":"
            + txn.lastOffset() + ":" + txn.lastStableOffset()).collect(Collectors.joining(","))) + "\n";
    }

    /** Where a leader epoch ends, or the one below it that the log has. */
    String epochEnd(Arguments arguments) {
        UnifiedLog log = log(arguments);
        int epoch = arguments.int32("EPOCH");
        arguments.end();
        return log.endOffsetForEpoch(epoch).map(end -> end.epoch() + ":" + end.offset()).orElse("-") + "\n";
    }

    /** Sets the high watermark; the answer is what it became. */
    String highWatermark(Arguments arguments) throws IOException {
        UnifiedLog log = log(arguments);
        long offset = arguments.int64("N");
        arguments.end();
        return "hw=" + log.updateHighWatermark(offset) + "\n";
    }

    /** Sets the high watermark as a follower does; the answer is what it became, or {@code -} if it stayed. */
    String maybeHighWatermark(Arguments arguments) throws IOException {
        UnifiedLog log = log(arguments);
        long offset = arguments.int64("N");
        arguments.end();
        return log.maybeUpdateHighWatermark(offset).map(became -> "hw=" + became).orElse("-") + "\n";
    }

    /** Deletes what has expired, as the retention task does for one log. */
    String retain(Arguments arguments) throws IOException {
        UnifiedLog log = log(arguments);
        arguments.end();
        return "deleted=" + log.deleteOldSegments() + "\n";
    }

    /** Raises the log start, as a client's delete-records request does. */
    String deleteRecords(Arguments arguments) {
        UnifiedLog log = log(arguments);
        long offset = arguments.int64("N");
        arguments.end();
        boolean raised = log.maybeIncrementLogStartOffset(offset, LogStartOffsetIncrementReason.ClientRecordDeletion);
        return "raised=" + Text.flag(raised) + " start=" + log.logStartOffset() + "\n";
    }

    /** One pass of the cleaner at the log's clock; answers what was chosen and, if there was anything to clean, done. */
    String clean(Arguments arguments) throws Exception {
        Driven driven = driven(arguments.text("ID"));
        String checkpoint = arguments.text("CHECKPOINT");
        int mapBytes = arguments.int32("MAP_BYTES");
        double loadFactor = Double.parseDouble(arguments.text("LOAD_FACTOR"));
        arguments.end();
        Optional<Long> stored = checkpoint.equals("-") ? Optional.empty()
            : Optional.of(Arguments.number("CHECKPOINT", checkpoint));
        return CleanerRun.run(driven.log(), driven.time(), new CleanerRun.Plan(stored, mapBytes, loadFactor));
    }

    /** Forgets the producers that have expired by now. */
    String expire(Arguments arguments) {
        Driven driven = driven(arguments.text("ID"));
        arguments.end();
        driven.log().removeExpiredProducers(driven.time().milliseconds());
        return "producers=" + driven.log().producerStateManager().producerIdCount() + "\n";
    }

    /** Puts the leader epochs back to what they were, after an append that was refused and left its epoch behind. */
    String epochs(Arguments arguments) {
        UnifiedLog log = log(arguments);
        List<String> entries = arguments.rest();
        log.leaderEpochCache().clearAndFlush();
        for (String entry : entries) {
            String[] parts = entry.split(":", -1);
            if (parts.length != 2) throw new BadRequest("bad epoch " + entry);
            log.leaderEpochCache().assign((int) Arguments.number("epoch", parts[0]),
                Arguments.number("offset", parts[1]));
        }
        return "";
    }

    String truncate(Arguments arguments) {
        UnifiedLog log = log(arguments);
        long offset = arguments.int64("N");
        arguments.end();
        return "truncated=" + Text.flag(log.truncateTo(offset)) + " end=" + log.logEndOffset() + "\n";
    }

    /** Drops everything and starts anew at an offset. */
    String truncateFully(Arguments arguments) {
        UnifiedLog log = log(arguments);
        long offset = arguments.int64("N");
        Optional<Long> start = arguments.more() ? Optional.of(arguments.int64("START")) : Optional.empty();
        arguments.end();
        log.truncateFullyAndStartAt(offset, start);
        return "start=" + log.logStartOffset() + " end=" + log.logEndOffset() + "\n";
    }

    String info(Arguments arguments) {
        UnifiedLog log = log(arguments);
        arguments.end();
        return describe(log);
    }

    private static String describe(UnifiedLog log) {
        String segments = log.logSegments().stream()
            .map(segment -> segment.baseOffset() + ":" + segment.size()).collect(Collectors.joining(","));
        return "start=" + log.logStartOffset() + " end=" + log.logEndOffset() + " hw=" + log.highWatermark()
            + " lso=" + log.lastStableOffset() + " recovery_point=" + log.recoveryPoint()
            + " segments=" + segments + "\n";
    }

    /** What can be told of a log without looking at its files: {@code info}, why it rolled, and the state beside it. */
    String state(Arguments arguments) throws IOException {
        String id = arguments.text("ID");
        UnifiedLog log = driven(id).log();
        arguments.end();
        StringBuilder out = new StringBuilder(describe(log));
        String roll = rolls.remove(id);
        if (roll != null) out.append("roll ").append(roll).append('\n');
        new LogText(log, out).writeState();
        return out.toString();
    }

    /** The log's part of the canonical text, as it is now; {@code lso} follows the high watermark as it stands. */
    String text(Arguments arguments) throws IOException {
        UnifiedLog log = log(arguments);
        arguments.end();
        StringBuilder out = new StringBuilder();
        new LogText(log, out).write();
        return out.toString();
    }

    /** Closes as the log manager does on a clean shutdown. */
    String close(Arguments arguments) {
        String id = arguments.text("ID");
        arguments.end();
        Driven driven = driven(id);
        logs.remove(id);
        rolls.remove(id);
        try {
            driven.log().prepareActiveSegmentForClose();
            driven.log().flush(true);
            driven.log().close();
        } finally {
            driven.drop();
        }
        return "";
    }

    /** Drops the log as it is, like a killed process; files and mappings are released. */
    String kill(Arguments arguments) {
        String id = arguments.text("ID");
        arguments.end();
        Driven driven = driven(id);
        logs.remove(id);
        rolls.remove(id);
        driven.drop();
        return "";
    }

    /** The commands of this driver, for the table. */
    List<Command> commands() {
        return List.of(
            new Command("open", "ID DIR TOPIC-PARTITION clean=0|1 rp=N start=N now=MS [KEY=VALUE...]", this::open),
            new Command("now", "ID MS", this::now),
            new Command("append", "ID EPOCH HEXBATCHES [ORIGIN [TXN_VERSION]]", this::append),
            new Command("follow", "ID EPOCH HEXBATCHES", this::follow),
            new Command("roll", "ID [EXPECTED]", this::roll),
            new Command("flush", "ID [0|1]", this::flush),
            new Command("read", "ID FROM MAX LOG_END|HIGH_WATERMARK|TXN_COMMITTED 0|1 [data]", this::read),
            new Command("timestamp", "ID TS", this::timestamp),
            new Command("aborted", "ID FROM UPTO", this::aborted),
            new Command("epoch_end", "ID EPOCH", this::epochEnd),
            new Command("hw", "ID N", this::highWatermark),
            new Command("maybe_hw", "ID N", this::maybeHighWatermark),
            new Command("delete_records", "ID N", this::deleteRecords),
            new Command("expire", "ID", this::expire),
            new Command("epochs", "ID [EPOCH:OFFSET...]", this::epochs),
            new Command("truncate", "ID N", this::truncate),
            new Command("truncate_fully", "ID N [START]", this::truncateFully),
            new Command("retain", "ID", this::retain),
            new Command("clean", "ID CHECKPOINT|- MAP_BYTES LOAD_FACTOR", this::clean),
            new Command("info", "ID", this::info),
            new Command("state", "ID", this::state),
            new Command("text", "ID", this::text),
            new Command("close", "ID", this::close),
            new Command("kill", "ID", this::kill));
    }
}
