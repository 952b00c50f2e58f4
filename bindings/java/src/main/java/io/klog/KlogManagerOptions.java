package io.klog;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** How to open log directories. Everything but the directories has a default. */
public final class KlogManagerOptions {
    final List<String> dirs = new ArrayList<>();
    KlogConfig config;
    int flags;
    int backgroundThreads;
    int recoveryThreads;
    long nowMs;
    long brokerEpoch;

    /**
     * Names the directories. Without any, those of {@code log.dirs} in the configuration are opened.
     *
     * @param dirs log directories
     */
    public KlogManagerOptions(Path... dirs) {
        for (Path dir : Arrays.asList(dirs)) {
            this.dirs.add(dir.toString());
        }
    }

    private KlogManagerOptions flag(int flag, boolean on) {
        flags = on ? flags | flag : flags & ~flag;
        return this;
    }

    /**
     * Broker keys, and overrides of topics.
     *
     * @param config a configuration from {@link KlogConfig#broker()}
     * @return this
     */
    public KlogManagerOptions config(KlogConfig config) {
        this.config = config;
        return this;
    }

    /**
     * Makes directories that do not exist. Without it they are an error.
     *
     * @param on whether to
     * @return this
     */
    public KlogManagerOptions createDirs(boolean on) {
        return flag(Layout.OPEN_CREATE_DIRS, on);
    }

    /**
     * Only looks: takes no lock, changes nothing; the directories may be a live broker's.
     * {@link KlogManager#refresh()} takes in what their owner did since.
     *
     * @param on whether to
     * @return this
     */
    public KlogManagerOptions readOnly(boolean on) {
        return flag(Layout.OPEN_READ_ONLY, on);
    }

    /**
     * Takes high watermarks from the directories' checkpoints; {@link KlogLog#setHighWatermark} moves them. Without it they
     * follow the log ends.
     *
     * @param on whether to
     * @return this
     */
    public KlogManagerOptions highWatermarksFromCheckpoint(boolean on) {
        return flag(Layout.OPEN_HW_FROM_CHECKPOINT, on);
    }

    /**
     * Lets a thread of the library do what {@link KlogManager#tick} does, until the manager is closed. Without it the program
     * calls that.
     *
     * @param on whether to
     * @return this
     */
    public KlogManagerOptions background(boolean on) {
        backgroundThreads = on ? 1 : 0;
        return this;
    }

    /**
     * Threads that load and close logs, for each directory.
     *
     * @param threads how many; 0 is {@code num.recovery.threads.per.data.dir}
     * @return this
     */
    public KlogManagerOptions recoveryThreads(int threads) {
        recoveryThreads = threads;
        return this;
    }

    /**
     * Has the clock stand still, until {@link KlogManager#tick(long)} moves it.
     *
     * @param nowMs the time, in ms since 1970
     * @return this
     */
    public KlogManagerOptions manualClock(long nowMs) {
        this.nowMs = nowMs;
        return flag(Layout.OPEN_MANUAL_CLOCK, true);
    }

    /**
     * The broker epoch for the clean-shutdown files.
     *
     * @param epoch the epoch
     * @return this
     */
    public KlogManagerOptions brokerEpoch(long epoch) {
        brokerEpoch = epoch;
        return flag(Layout.OPEN_HAS_BROKER_EPOCH, true);
    }
}
