package io.klog;

import io.klog.errors.KlogTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * A partition's log. Any thread may use it, also at once with a close of it or of its manager; from then on every call throws
 * {@link io.klog.errors.KlogClosedException}.
 */
public final class KlogLog implements AutoCloseable {
    /** For {@link #offsetForTime}: the log end. */
    public static final long LATEST = -1;
    /** For {@link #offsetForTime}: the log start. */
    public static final long EARLIEST = -2;
    /** For {@link #offsetForTime}: the first record with the largest timestamp. */
    public static final long MAX_TIMESTAMP = -3;

    private final KlogManager manager;
    private final TopicPartition topicPartition;
    private final long id;
    private final Handle handle;

    KlogLog(KlogManager manager, TopicPartition topicPartition, long id) {
        this.manager = manager;
        this.topicPartition = topicPartition;
        this.id = id;
        handle = new Handle(this, id, manager.children, log -> Library.calls().logClose(log));
    }

    long id() {
        return id;
    }

    /**
     * Which log it is.
     *
     * @return its topic and partition
     */
    public TopicPartition topicPartition() {
        return topicPartition;
    }

    /**
     * Appends records as one batch, all or nothing.
     *
     * @param batch the records; none is no error
     * @return the offsets that they got
     */
    public AppendResult append(RecordBatchBuilder batch) {
        return append(batch, null);
    }

    /**
     * Appends records as one batch, all or nothing.
     *
     * @param batch the records; none is no error
     * @param options how; null for all defaults
     * @return the offsets that they got
     */
    public AppendResult append(RecordBatchBuilder batch, AppendOptions options) {
        DirectBuffer packed = batch.packed();
        Frame frame = Frame.take();
        try {
            long in = AppendOptions.in(frame, options);
            int status = Library.calls().appendPacked(
                    id, packed.address, batch.sizeInBytes(), in, frame.out(Layout.APPEND_RESULT_SIZE), frame.error());
            Reachability.fence(packed.bytes);
            return appended(status, frame);
        } finally {
            frame.give();
        }
    }

    /**
     * Appends ready record batches: of a client one, of a follower as many as there are. Bytes behind the last whole batch
     * are dropped.
     *
     * @param batches its remaining bytes; it is left as it is
     * @param options how; null for all defaults
     * @return the offsets that they got
     */
    public AppendResult appendRaw(ByteBuffer batches, AppendOptions options) {
        Frame frame = Frame.take();
        try {
            int length = batches.remaining();
            long in = AppendOptions.in(frame, options);
            long out = frame.out(Layout.APPEND_RESULT_SIZE);
            if (batches.isDirect()) {
                return appended(Library.calls().appendFrom(id, batches, in, out, frame.error()), frame);
            }
            DirectBuffer copy = frame.bulk(length);
            copy.bytes.duplicate().put(batches.duplicate());
            return appended(Library.calls().appendBatches(id, copy.address, length, in, out, frame.error()), frame);
        } finally {
            frame.give();
        }
    }

    private static AppendResult appended(int status, Frame frame) {
        if (status != 0) {
            throw Failure.of(status, frame, frame.takeRecordErrors());
        }
        return new AppendResult(frame);
    }

    /**
     * Appends one record with the time of the append.
     *
     * @param key may be null
     * @param value null is a tombstone
     * @return its offset
     */
    public long append(byte[] key, byte[] value) {
        return append(RecordBatchBuilder.TIMESTAMP_NOW, key, value);
    }

    /**
     * Appends one record.
     *
     * @param timestamp in ms since 1970, {@link RecordBatchBuilder#TIMESTAMP_NOW} or {@link RecordBatchBuilder#TIMESTAMP_NONE}
     * @param key may be null
     * @param value null is a tombstone
     * @return its offset
     */
    public long append(long timestamp, byte[] key, byte[] value) {
        Frame frame = Frame.take();
        try {
            long keyAt = frame.put(key);
            long keyLength = frame.length();
            long valueAt = frame.put(value);
            frame.check(Library.calls().appendOne(
                    id, keyAt, keyLength, valueAt, frame.length(), timestamp, frame.number(), frame.error()));
            return frame.numberValue();
        } finally {
            frame.give();
        }
    }

    /**
     * Opens an appender, which gathers small appends.
     *
     * @param options how it works; null for all defaults
     * @return for the caller to close
     */
    public Appender appender(AppenderOptions options) {
        return manager.keep(new Appender(manager, Call.number((calls, frame) ->
                calls.appenderOpen(id, AppenderOptions.in(frame, options), frame.number(), frame.error()))));
    }

    /**
     * Ends the transaction of a producer, as its coordinator does.
     *
     * @param producerId the producer
     * @param producerEpoch its epoch
     * @param commit false aborts
     * @param coordinatorEpoch the epoch of the coordinator
     * @return the offset of the marker
     */
    public AppendResult endTransaction(long producerId, int producerEpoch, boolean commit, int coordinatorEpoch) {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().appendMarker(id, producerId, producerEpoch, commit ? 1 : 0, coordinatorEpoch,
                    frame.out(Layout.APPEND_RESULT_SIZE), frame.error()));
            return new AppendResult(frame);
        } finally {
            frame.give();
        }
    }

    /**
     * Fetches whole record batches of one segment, as a broker sends them, from the one that holds the offset on. They are
     * put behind the buffer's position, which moves with them. Nothing to read is no error.
     *
     * @param offset where to begin; go on at {@link ReadResult#nextOffset()}
     * @param to what it has room for; direct buffers take no copy
     * @param options how; null for all defaults
     * @return what was given
     */
    public ReadResult read(long offset, ByteBuffer to, ReadOptions options) {
        if (to.isReadOnly()) {
            throw new IllegalArgumentException("the buffer is read-only");
        }
        Frame frame = Frame.take();
        try {
            int room = to.remaining();
            boolean direct = to.isDirect();
            DirectBuffer own = direct ? null : frame.bulk(room);
            long in = ReadOptions.in(frame, options);
            long out = frame.out(Layout.READ_RESULT_SIZE);
            int status = direct ? Library.calls().readInto(id, offset, in, to, out, frame.error())
                    : Library.calls().read(id, offset, in, own.address, room, out, frame.error());
            if (status == Status.BUFFER_TOO_SMALL.code()) {
                throw Failure.tooSmall(frame.outLong(Layout.READ_RESULT_BYTES_NEEDED));
            }
            frame.check(status);
            int bytes = (int) frame.outLong(Layout.READ_RESULT_BYTES);
            if (direct) {
                to.position(to.position() + bytes);
            } else {
                ByteBuffer given = own.bytes.duplicate();
                given.limit(bytes);
                to.put(given);
            }
            return new ReadResult(frame);
        } finally {
            frame.give();
        }
    }

    /**
     * Fetches with all defaults.
     *
     * @param offset where to begin
     * @param to what it has room for
     * @return what was given
     */
    public ReadResult read(long offset, ByteBuffer to) {
        return read(offset, to, null);
    }

    /**
     * Fetches, and waits for something to fetch: for {@link ReadOptions#minBytes}, a record at least. When the time is up it
     * gives what there is, which may be nothing.
     *
     * @param offset where to begin
     * @param to what it has room for
     * @param options how; null for all defaults
     * @param wait how long; null is no limit
     * @return what was given
     * @throws InterruptedException if the thread was interrupted while it waited; nothing was read
     */
    public ReadResult read(long offset, ByteBuffer to, ReadOptions options, Duration wait) throws InterruptedException {
        ReadOptions o = options == null ? ReadOptions.DEFAULT : options;
        manager.waits.await(new Wait(id, o.end(), offset, o.minBytes(), Deadline.in(wait)));
        return read(offset, to, options);
    }

    /**
     * Holds stored record batches of one segment without a copy, from the one that holds the offset on, up to
     * {@link ReadOptions#maxBytes} or the segment's end: what {@link #read(long, ByteBuffer, ReadOptions)} would give. Needs
     * Java 22 or later.
     *
     * @param offset where to begin
     * @param options how; null for all defaults
     * @return for the same thread to close
     * @throws UnsupportedOperationException over JNI
     */
    public View view(long offset, ReadOptions options) {
        return View.open(id, offset, options);
    }

    /**
     * Waits until an end of the log lies above an offset: the record at the offset is there then. A thread that waits costs
     * nothing but itself, and a virtual one not even a thread.
     *
     * @param kind which end
     * @param offset also one that the log need not have yet
     * @param timeout how long; null is no limit
     * @return where the end is then; it may have moved on
     * @throws io.klog.errors.KlogTimeoutException if it did not come
     * @throws io.klog.errors.OffsetOutOfRangeException if the log is cut below the offset
     * @throws InterruptedException if the thread was interrupted
     */
    public long await(OffsetKind kind, long offset, Duration timeout) throws InterruptedException {
        Wait wait = new Wait(id, kind, offset, 0, Deadline.in(timeout));
        if (!manager.waits.await(wait)) {
            throw (KlogTimeoutException) Failure.of(Status.TIMED_OUT.code());
        }
        return wait.reached();
    }

    /**
     * Tells when an end of the log lies above an offset. What follows in the same thread holds up all others who wait: it has
     * to be short and may not wait; the future's Async methods are for the rest. What cannot be waited for is thrown at once.
     *
     * @param kind which end
     * @param offset also one that the log need not have yet
     * @return completed with where the end is then, or with what {@link #await} would throw; may be cancelled
     */
    public CompletableFuture<Long> whenReached(OffsetKind kind, long offset) {
        Wait wait = new Wait(id, kind, offset, 0, Deadline.in(null));
        manager.waits.tell(wait);
        return wait.future;
    }

    /**
     * Reads records from an offset on.
     *
     * @param offset where to begin; whether it can be read shows at the first record
     * @return for the caller to close
     */
    public Cursor cursor(long offset) {
        return cursor(offset, null);
    }

    /**
     * Reads records from an offset on.
     *
     * @param offset where to begin; whether it can be read shows at the first record
     * @param options how; null for all defaults
     * @return for the caller to close
     */
    public Cursor cursor(long offset, ReadOptions options) {
        Frame frame = Frame.take();
        try {
            long in = ReadOptions.in(frame, options);
            frame.check(Library.calls().cursorOpen(id, offset, in, frame.number(), frame.error()));
            OffsetKind end = (options == null ? ReadOptions.DEFAULT : options).end();
            return new Cursor(manager.children, manager.waits, id, frame.numberValue(), end, offset);
        } finally {
            frame.give();
        }
    }

    /**
     * The next offset to be assigned: the cheapest call.
     *
     * @return the log end
     */
    public long endOffset() {
        Frame frame = Frame.take();
        try {
            Frame.checkPlain(Library.calls().logEndOffset(id, frame.number()));
            return frame.numberValue();
        } finally {
            frame.give();
        }
    }

    /**
     * Offsets, epochs and sizes, all of one moment.
     *
     * @return a snapshot
     */
    public LogInfo info() {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().logGetInfo(id, frame.out(Layout.LOG_INFO_SIZE), frame.error()));
            return new LogInfo(frame);
        } finally {
            frame.give();
        }
    }

    /**
     * The offset for a time: of the first record at or after it, in the first segment that reaches it.
     *
     * @param timestamp in ms since 1970, or {@link #LATEST}, {@link #EARLIEST}, {@link #MAX_TIMESTAMP}
     * @return empty if no record is that late
     */
    public Optional<OffsetAndTimestamp> offsetForTime(long timestamp) {
        Frame frame = Frame.take();
        try {
            long out = frame.out(Layout.TIMESTAMP_OFFSET_SIZE);
            frame.check(Library.calls().offsetForTimestamp(id, timestamp, out, frame.error()));
            OffsetAndTimestamp found = new OffsetAndTimestamp(frame);
            return found.offset() < 0 ? Optional.<OffsetAndTimestamp>empty() : Optional.of(found);
        } finally {
            frame.give();
        }
    }

    /**
     * Where a leader epoch ends, as a broker answers OffsetsForLeaderEpoch.
     *
     * @param epoch the epoch
     * @return the end of the highest epoch at or below it
     */
    public EpochEndOffset endOffsetForEpoch(int epoch) {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().offsetForEpoch(id, epoch, frame.out(Layout.EPOCH_OFFSET_SIZE), frame.error()));
            return new EpochEndOffset(frame);
        } finally {
            frame.give();
        }
    }

    /**
     * Notes durably that a leader epoch begins.
     *
     * @param epoch the epoch
     * @param startOffset where it begins
     */
    public void assignEpoch(int epoch, long startOffset) {
        Call.run((calls, frame) -> calls.epochAssign(id, epoch, startOffset, frame.error()));
    }

    /**
     * Moves the high watermark, where it is the caller's.
     *
     * @param offset where to; also down
     * @return what it is now: the nearest that it can be
     */
    public long setHighWatermark(long offset) {
        return Call.number((calls, frame) -> calls.highWatermarkSet(id, offset, frame.number(), frame.error()));
    }

    /** Makes all of the log durable. A failure takes the log's directory offline. */
    public void flush() {
        flush(-1);
    }

    /**
     * Makes a part of the log durable. A failure takes the log's directory offline.
     *
     * @param uptoOffset what lies below; -1 is all
     */
    public void flush(long uptoOffset) {
        Call.run((calls, frame) -> calls.flush(id, uptoOffset, 0, frame.error()));
    }

    /**
     * Makes all of the log durable, in another thread.
     *
     * @param executor whose
     * @return completed when it is, or with the failure
     */
    public CompletableFuture<Void> flushAsync(Executor executor) {
        return CompletableFuture.runAsync(this::flush, executor);
    }

    /**
     * Begins a new segment.
     *
     * @return its base offset
     */
    public long roll() {
        return Call.number((calls, frame) -> calls.roll(id, frame.number(), frame.error()));
    }

    /**
     * Cuts the log, durably. The whole batch that holds the offset goes.
     *
     * @param offset the next one to be assigned then
     * @return whether anything was cut
     */
    public boolean truncateTo(long offset) {
        return Call.number((calls, frame) -> calls.truncateTo(id, offset, frame.number(), frame.error())) != 0;
    }

    /**
     * Drops all records, durably.
     *
     * @param newOffset where the log goes on
     */
    public void truncateFully(long newOffset) {
        Call.run((calls, frame) -> calls.truncateFully(id, newOffset, -1, frame.error()));
    }

    /**
     * Deletes records for readers, durably. Their bytes go when retention takes their segments.
     *
     * @param beforeOffset those below; -1 is the high watermark
     * @return where the log starts now
     */
    public long deleteRecords(long beforeOffset) {
        return Call.number((calls, frame) -> calls.deleteRecords(id, beforeOffset, frame.number(), frame.error()));
    }

    /**
     * One pass of retention over this log.
     *
     * @return what went
     */
    public RetainResult retain() {
        return manager.retain(this, false);
    }

    /**
     * Compacts this log in one pass, whatever share of it is dirty.
     *
     * @return what it did
     */
    public CleanResult clean() {
        return manager.clean(this, null);
    }

    /**
     * Compacts this log in one pass, whatever share of it is dirty.
     *
     * @param options how; null for all defaults
     * @return what it did
     */
    public CleanResult clean(CleanOptions options) {
        return manager.clean(this, options);
    }

    /**
     * Compacts this log in one pass, in another thread; {@link CleanOptions#cancel} ends it.
     *
     * @param options how; null for all defaults
     * @param executor whose
     * @return what it did, or the failure
     */
    public CompletableFuture<CleanResult> cleanAsync(CleanOptions options, Executor executor) {
        return CompletableFuture.supplyAsync(() -> clean(options), executor);
    }

    /**
     * How far the pass of the cleaner is that runs on this log, in whatever thread.
     *
     * @return of phase {@link CleanPhase#IDLE} if none does
     */
    public CleanProgress cleanProgress() {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().cleanGetProgress(id, frame.out(Layout.CLEAN_PROGRESS_SIZE), frame.error()));
            return new CleanProgress(frame);
        } finally {
            frame.give();
        }
    }

    /** Lets no pass of the cleaner run on this log until {@link #resumeCleaning()}; one that runs is ended. Pauses count. */
    public void pauseCleaning() {
        Call.run((calls, frame) -> calls.cleanPause(id, frame.error()));
    }

    /** Takes back one {@link #pauseCleaning()}. */
    public void resumeCleaning() {
        Call.run((calls, frame) -> calls.cleanResume(id, frame.error()));
    }

    /**
     * Whether the cleaner has come to an offset.
     *
     * @param offset the offset
     * @return true if the log's cleaner checkpoint is at or above it
     */
    public boolean isCleanedTo(long offset) {
        Frame frame = Frame.take();
        try {
            int status = Library.calls().cleanAwait(id, offset, 0, 0, frame.error());
            if (status == Status.TIMED_OUT.code()) {
                return false;
            }
            frame.check(status);
            return true;
        } finally {
            frame.give();
        }
    }

    /**
     * Moves the log to another directory of its manager. Appends and reads go on, and all handles stay good.
     *
     * @param dir its number in {@link KlogManager#dirs()}
     * @param timeoutMs what was copied by then stays, and the next call goes on; -1 is no limit
     * @param cancel ends it as the timeout does; null for none
     */
    public void moveTo(int dir, long timeoutMs, CancelToken cancel) {
        Call.run((calls, frame) -> calls.logMove(id, dir, timeoutMs, CancelToken.id(cancel), frame.error()));
    }

    /** Deletes the log: it is gone for every call when this returns. Its files are removed later. */
    public void delete() {
        Call.run((calls, frame) -> calls.logDelete(id, 0, frame.error()));
    }

    /**
     * Gives the log's topic these overrides, instead of those that it had.
     *
     * @param overrides a configuration from {@link KlogConfig#topic()}
     */
    public void configure(KlogConfig overrides) {
        long config = overrides.open();
        try {
            Call.run((calls, frame) -> calls.logSetConfig(id, config, frame.error()));
        } finally {
            KlogConfig.close(config);
        }
    }

    /** Takes in what the owner of a read-only directory did with this log since the last look. */
    public void refresh() {
        manager.refresh(this);
    }

    /**
     * Every producer that the log knows, and the batches that are remembered of it, a line each.
     *
     * @return as klog.h describes it
     */
    public String producers() {
        Frame frame = Frame.take();
        try {
            return frame.read((buffer, capacity, needed) ->
                    Library.calls().producers(id, buffer, capacity, needed, frame.error()));
        } finally {
            frame.give();
        }
    }

    /**
     * The aborted transactions that a reader of batches leaves out.
     *
     * @param from the offset that was read from
     * @param upto {@link ReadResult#abortedUpto()}
     * @return in the order of the index
     */
    public List<AbortedTransaction> abortedTransactions(long from, long upto) {
        return AbortedTransaction.list(id, from, upto);
    }

    /**
     * Metrics of this log, of its topic, of its directory or of the manager, whichever is the narrowest that there is.
     *
     * @return all of them
     */
    public List<Metric> metrics() {
        return manager.metrics(this);
    }

    /** Ends this handle. The log stays open in its manager. */
    @Override
    public void close() {
        handle.close();
    }

    @Override
    public String toString() {
        return "KlogLog(" + topicPartition + ")";
    }
}
