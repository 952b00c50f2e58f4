package io.klog;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Log directories that are open: this process owns them until {@link #close()}, unless they were opened read-only. Any thread
 * may use it, also at once with its close; from then on every call throws {@link io.klog.errors.KlogClosedException}.
 */
public final class KlogManager implements AutoCloseable {
    private final long id;

    /** Those that are open: a close appends what they hold. */
    private final Set<Appender> appenders = ConcurrentHashMap.newKeySet();
    final Waits waits;
    /** Logs, cursors and event streams that are open. */
    final Handle.Children children = new Handle.Children();
    private final Handle handle;
    /** Whether a close that was limited has not ended. */
    private final AtomicBoolean isEnding = new AtomicBoolean();

    private KlogManager(long id) {
        this.id = id;
        handle = new Handle(this, id, null, manager -> { });
        waits = new Waits(id);
    }

    /**
     * Opens log directories: locks them, and loads and recovers every log in them. A log that cannot be opened is a line of
     * {@link #report()}; the others are served.
     *
     * @param options which, and how
     * @return for the caller to close
     */
    public static KlogManager open(KlogManagerOptions options) {
        long config = KlogConfig.open(options.config);
        Frame frame = Frame.take();
        try {
            long[] dirs = new long[options.dirs.size()];
            for (int i = 0; i < dirs.length; i++) {
                dirs[i] = frame.put(options.dirs.get(i) + '\0');
            }
            long list = dirs.length == 0 ? 0 : frame.putAddresses(dirs);
            long in = frame.in(Layout.MANAGER_OPTIONS_SIZE);
            frame.inInt(Layout.MANAGER_OPTIONS_FLAGS, options.flags);
            frame.inLong(Layout.MANAGER_OPTIONS_DIRS, list);
            frame.inLong(Layout.MANAGER_OPTIONS_DIR_COUNT, dirs.length);
            frame.inLong(Layout.MANAGER_OPTIONS_CONFIG, config);
            frame.inInt(Layout.MANAGER_OPTIONS_BACKGROUND_THREADS, options.backgroundThreads);
            frame.inInt(Layout.MANAGER_OPTIONS_RECOVERY_THREADS, options.recoveryThreads);
            frame.inLong(Layout.MANAGER_OPTIONS_NOW_MS, options.nowMs);
            frame.inLong(Layout.MANAGER_OPTIONS_BROKER_EPOCH, options.brokerEpoch);
            frame.check(Library.calls().managerOpen(in, frame.number(), frame.error()));
            return new KlogManager(frame.numberValue());
        } finally {
            frame.give();
            KlogConfig.close(config);
        }
    }

    /**
     * Opens log directories in another thread: recovery may take minutes, {@link #openProgress} tells how far it is.
     *
     * @param options which, and how
     * @param executor whose
     * @return for the caller to close, or the failure
     */
    public static CompletableFuture<KlogManager> openAsync(KlogManagerOptions options, Executor executor) {
        return CompletableFuture.supplyAsync(() -> open(options), executor);
    }

    /**
     * Opens directories with all defaults; they are made if they do not exist.
     *
     * @param dirs log directories
     * @return for the caller to close
     */
    public static KlogManager open(Path... dirs) {
        return open(new KlogManagerOptions(dirs).createDirs(true));
    }

    /**
     * How far the opening of a directory is, for another thread while {@link #open} runs.
     *
     * @param dir as it was given there
     * @return null while no opening has that directory: before it owns it, and once it is done
     */
    public static OpenProgress openProgress(Path dir) {
        Frame frame = Frame.take();
        try {
            long path = frame.put(dir.toString());
            int status = Library.calls().managerOpenProgress(
                    path, frame.length(), frame.out(Layout.OPEN_PROGRESS_SIZE), 0, 0, 0, frame.error());
            if (status == Status.END.code()) {
                return null;
            }
            frame.check(status);
            return new OpenProgress(frame);
        } finally {
            frame.give();
        }
    }

    /**
     * Opens a log; it must be there.
     *
     * @param topicPartition which
     * @return for the caller to close
     */
    public KlogLog log(TopicPartition topicPartition) {
        return log(topicPartition, null);
    }

    /**
     * Opens a log, and makes it if there is none.
     *
     * @param topic its topic
     * @param partition its number
     * @return for the caller to close
     */
    public KlogLog logOrCreate(String topic, int partition) {
        return log(new TopicPartition(topic, partition), new KlogLogOptions().create(true));
    }

    /**
     * Opens a log.
     *
     * @param topicPartition which
     * @param options how; null for all defaults
     * @return for the caller to close
     */
    public KlogLog log(TopicPartition topicPartition, KlogLogOptions options) {
        KlogLogOptions o = options == null ? KlogLogOptions.DEFAULT : options;
        long config = KlogConfig.open(o.config);
        Frame frame = Frame.take();
        try {
            long dir = frame.put(o.dir);
            long dirLength = frame.length();
            long topic = frame.put(topicPartition.topic());
            long topicLength = frame.length();
            long in = frame.in(Layout.LOG_OPTIONS_SIZE);
            frame.inInt(Layout.LOG_OPTIONS_FLAGS, o.flags);
            frame.inBytes(Layout.LOG_OPTIONS_TOPIC_ID, o.topicId);
            frame.inLong(Layout.LOG_OPTIONS_CONFIG, config);
            frame.inLong(Layout.LOG_OPTIONS_DIR, dir);
            frame.inLong(Layout.LOG_OPTIONS_DIR_LEN, dirLength);
            frame.check(Library.calls().logOpen(
                    id, topic, topicLength, topicPartition.partition(), in, frame.number(), frame.error()));
            return new KlogLog(this, topicPartition, frame.numberValue());
        } finally {
            frame.give();
            KlogConfig.close(config);
        }
    }

    /** Notes an appender, to be closed before this is. */
    Appender keep(Appender appender) {
        appenders.add(appender);
        return appender;
    }

    void forget(Appender appender) {
        appenders.remove(appender);
    }

    /**
     * Appends to many logs in one call, in order. One that fails does not keep the others from being appended.
     *
     * @param items each a batch of its own, as {@link KlogLog#append(RecordBatchBuilder, AppendOptions)} would append it
     * @param options how, for all of them; null for all defaults
     * @return what became of each
     */
    public List<AppendOutcome> appendAll(List<AppendItem> items, AppendOptions options) {
        return PackedItems.append(id, items, options);
    }

    private String text(TextOf call) {
        Frame frame = Frame.take();
        try {
            return frame.read((buffer, capacity, needed) -> call.into(buffer, capacity, needed, frame.error()));
        } finally {
            frame.give();
        }
    }

    /** A call whose output is a text. */
    private interface TextOf {
        int into(long buffer, long capacity, long needed, long error);
    }

    /**
     * Every log, also those that could not be opened.
     *
     * @return sorted
     */
    public List<LogListing> logs() {
        List<LogListing> logs = new ArrayList<>();
        for (String[] f : Lines.of(text((b, cap, n, err) -> Library.calls().managerList(id, b, cap, n, err)))) {
            logs.add(new LogListing(TopicPartition.parse(f[0]), f[1], f[2], f[3].isEmpty(), f[3].equals("failed")));
        }
        return logs;
    }

    /**
     * What the opening found and did.
     *
     * @return sorted by directory and log
     */
    public List<ReportLine> report() {
        List<ReportLine> lines = new ArrayList<>();
        for (String[] f : Lines.of(text((b, cap, n, err) -> Library.calls().managerReport(id, b, cap, n, err)))) {
            lines.add(new ReportLine(f[0], f[1], Lines.partition(f[2]), f[3], f[4]));
        }
        return lines;
    }

    /**
     * The directories.
     *
     * @return by their numbers
     */
    public List<LogDir> dirs() {
        List<LogDir> dirs = new ArrayList<>();
        for (int index = 0;; index++) {
            int number = index;
            int[] state = new int[1];
            Frame frame = Frame.take();
            try {
                // The state comes out where no text does.
                long stateAt = frame.out(8);
                String path = frame.read((buffer, capacity, needed) -> {
                    int status = Library.calls().managerDirInfo(id, number, buffer, capacity, needed, stateAt, frame.error());
                    state[0] = frame.outInt(0);
                    return status;
                });
                dirs.add(new LogDir(number, path, Status.of(state[0])));
            } catch (KlogException end) {
                if (end.status() == Status.END) {
                    return dirs;
                }
                throw end;
            } finally {
                frame.give();
            }
        }
    }

    /**
     * Counts, and what the opening did.
     *
     * @return a snapshot
     */
    public ManagerInfo info() {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().managerGetInfo(id, frame.out(Layout.MANAGER_INFO_SIZE), frame.error()));
            return new ManagerInfo(frame);
        } finally {
            frame.give();
        }
    }

    /** Takes in what the owner of read-only directories did since the last look. Of own directories: does nothing. */
    public void refresh() {
        refresh(null);
    }

    void refresh(KlogLog only) {
        Call.run((calls, frame) -> calls.managerRefresh(id, only == null ? 0 : only.id(), frame.error()));
    }

    /**
     * One pass of retention.
     *
     * @param only this log; null for all that are managed and not compacted
     * @param dryRun counts what would go; nothing goes
     * @return what went
     */
    public RetainResult retain(KlogLog only, boolean dryRun) {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().retain(id, only == null ? 0 : only.id(), dryRun ? Layout.DRY_RUN : 0,
                    frame.out(Layout.RETAIN_RESULT_SIZE), frame.error()));
            return new RetainResult(frame);
        } finally {
            frame.give();
        }
    }

    /**
     * Compacts now.
     *
     * @param only this log, in one pass; null for all that are managed and compacted, the filthiest first, as long as one is
     *     dirty enough
     * @param options how; null for all defaults
     * @return what it did
     */
    public CleanResult clean(KlogLog only, CleanOptions options) {
        Frame frame = Frame.take();
        try {
            long in = CleanOptions.in(frame, options);
            frame.check(Library.calls().clean(
                    id, only == null ? 0 : only.id(), in, frame.out(Layout.CLEAN_RESULT_SIZE), frame.error()));
            return new CleanResult(frame);
        } finally {
            frame.give();
        }
    }

    /** Makes every log durable. */
    public void flushAll() {
        Call.run((calls, frame) -> calls.flushAll(id, 0, frame.error()));
    }

    /**
     * Writes checkpoints of all directories now.
     *
     * @param which what they hold
     */
    public void checkpoint(EnumSet<CheckpointType> which) {
        int bits = (which.contains(CheckpointType.RECOVERY_POINT) ? Layout.CHECKPOINT_RECOVERY_POINT : 0)
                | (which.contains(CheckpointType.LOG_START) ? Layout.CHECKPOINT_LOG_START : 0);
        Call.run((calls, frame) -> calls.checkpoint(id, bits, frame.error()));
    }

    /**
     * Runs what is due: retention, compaction, flushes by time, checkpoints, removal of files.
     *
     * @return what was done, and when to call again
     */
    public TickResult tick() {
        return tick(-1);
    }

    /**
     * Sets a clock that stands still ({@link KlogManagerOptions#manualClock}), and runs what is due.
     *
     * @param nowMs the time, in ms since 1970; -1 leaves it
     * @return what was done, and when to call again
     */
    public TickResult tick(long nowMs) {
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().tick(id, nowMs, 0, frame.out(Layout.TICK_RESULT_SIZE), frame.error()));
            return new TickResult(frame);
        } finally {
            frame.give();
        }
    }

    /**
     * Metrics of the whole manager.
     *
     * @return all of them
     */
    public List<Metric> metrics() {
        return metrics(null);
    }

    List<Metric> metrics(KlogLog only) {
        Backend calls = Library.calls();
        Frame frame = Frame.take();
        try {
            DirectBuffer values = frame.bulk(512 * 8);
            frame.check(calls.metricsRead(id, only == null ? 0 : only.id(), values.address, values.capacity() / 8,
                    frame.number(), frame.error()));
            int count = (int) frame.numberValue();
            List<Metric> metrics = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                frame.check(calls.metricDescribe(i, frame.out(Layout.METRIC_SIZE), frame.error()));
                metrics.add(new Metric(calls.text(frame.outLong(Layout.METRIC_NAME)),
                        calls.text(frame.outLong(Layout.METRIC_UNIT)), calls.text(frame.outLong(Layout.METRIC_HELP)),
                        MetricType.values()[frame.outInt(Layout.METRIC_TYPE)], values.bytes.getLong(i * 8)));
            }
            return metrics;
        } finally {
            frame.give();
        }
    }

    /**
     * All metrics as text for a scraper, in the format of OpenMetrics.
     *
     * @return the text
     */
    public String metricsText() {
        return text((b, cap, n, err) -> Library.calls().metricsText(id, Layout.METRICS_OPENMETRICS, b, cap, n, err));
    }

    /**
     * Opens a stream of what happens; it begins with what the opening found. When it is full the newest events are lost and
     * counted.
     *
     * @param kinds of what to tell
     * @param capacity how many events it holds; 0 for 1024
     * @return for the caller to close
     */
    public EventStream events(EnumSet<EventType> kinds, int capacity) {
        long mask = 0;
        for (EventType kind : kinds) {
            mask |= kind.code();
        }
        Frame frame = Frame.take();
        try {
            frame.check(Library.calls().eventsOpen(id, mask, capacity, frame.number(), 0, frame.error()));
            return new EventStream(children, frame.numberValue());
        } finally {
            frame.give();
        }
    }

    /**
     * Changes broker keys while logs are open: all of them or none.
     *
     * @param changes a configuration from {@link KlogConfig#broker()} with nothing but the keys to change
     */
    public void configure(KlogConfig changes) {
        long config = changes.open();
        try {
            Call.run((calls, frame) -> calls.managerSetConfig(id, config, frame.error()));
        } finally {
            KlogConfig.close(config);
        }
    }

    /**
     * Loads a log again that failed to load.
     *
     * @param topicPartition which
     */
    public void retry(TopicPartition topicPartition) {
        Call.run((calls, frame) -> {
            long topic = frame.put(topicPartition.topic());
            return calls.logRetry(id, topic, frame.length(), topicPartition.partition(), frame.error());
        });
    }

    /**
     * Drops one of the copies of a partition that was found in several directories.
     *
     * @param topicPartition which
     * @param dropDir the number of the directory whose copy goes
     */
    public void resolve(TopicPartition topicPartition, int dropDir) {
        Call.run((calls, frame) -> {
            long topic = frame.put(topicPartition.topic());
            return calls.managerResolve(id, topic, frame.length(), topicPartition.partition(), dropDir, frame.error());
        });
    }

    /**
     * Lets a copy that was on its way to another directory be the partition's log, where there is none.
     *
     * @param topicPartition which
     */
    public void promote(TopicPartition topicPartition) {
        Call.run((calls, frame) -> {
            long topic = frame.put(topicPartition.topic());
            return calls.logPromote(id, topic, frame.length(), topicPartition.partition(), frame.error());
        });
    }

    /**
     * Says whose a directory is: writes its meta.properties, so that a broker of that cluster takes it for its own.
     *
     * @param dir the directory's number
     * @param clusterId the cluster
     * @param nodeId the broker
     */
    public void createMeta(int dir, String clusterId, int nodeId) {
        Call.run((calls, frame) -> {
            long cluster = frame.put(clusterId);
            return calls.metaCreate(id, dir, cluster, frame.length(), nodeId, 0, frame.error());
        });
    }

    /**
     * Appends what appenders hold, closes every log in order, writes checkpoints and clean-shutdown files, and gives the
     * directories back. Calls that run are waited for; who waits for a log is told that it is closed. Logs, cursors and event
     * streams that are open end with it. If something could not be stored it throws; this is closed then too. The second time
     * it does nothing.
     */
    @Override
    public void close() {
        close(-1);
    }

    /**
     * As {@link #close()}, but waits for calls that run, and for the disk, only so long; what appenders hold is appended
     * first. If it is not done by then it goes on, and this, or {@link #close()}, may be called again to wait for it.
     *
     * @param timeout how long to wait
     * @return whether all is closed
     */
    public boolean close(Duration timeout) {
        return close(Math.max(0, timeout.toMillis()));
    }

    private boolean close(long timeoutMs) {
        KlogException failure = null;
        if (handle.close()) {
            for (Appender appender : appenders) {
                try {
                    appender.close();
                } catch (KlogException refused) {
                    failure = failure == null ? refused : failure;
                }
            }
        } else if (!isEnding.compareAndSet(true, false)) {
            return true;
        }
        boolean isDone = end(0, timeoutMs);
        if (failure != null) {
            throw failure;
        }
        return isDone;
    }

    /** Closes without writing anything, as a crash would: the next opening recovers. What appenders hold is dropped. */
    public void abandon() {
        if (handle.close()) {
            for (Appender appender : appenders) {
                appender.discard();
            }
            end(Layout.CLOSE_ABANDON, -1);
        }
    }

    private boolean end(int flags, long timeoutMs) {
        try {
            Call.run((calls, frame) -> calls.managerClose(id, flags, timeoutMs, frame.error()));
        } catch (KlogException failure) {
            if (failure.status() == Status.TIMED_OUT) {
                isEnding.set(true);
                return false;
            }
            children.close();
            throw failure;
        }
        children.close();
        return true;
    }
}
