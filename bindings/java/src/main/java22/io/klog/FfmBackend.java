package io.klog;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.file.Paths;

/**
 * The functions of klog.h over java.lang.foreign. Handles and pointers are declared as 64-bit numbers: the calling
 * conventions pass a struct of one such number, and a pointer, as the number itself.
 */
final class FfmBackend implements Backend {
    /** Set before {@link Calls} is touched, which binds its functions once. */
    private static volatile SymbolLookup lookup;

    private FfmBackend() {
    }

    /** Whether this class is the one that can call. */
    static boolean isAvailable() {
        return true;
    }

    /** Loads the library and binds its functions. */
    static Backend open(String path) {
        // Never unloaded: threads of the library may run until the process ends.
        lookup = SymbolLookup.libraryLookup(Paths.get(path), Arena.global());
        Backend calls = new FfmBackend();
        calls.versionNumber();
        return calls;
    }

    /** As open, with the file that java.library.path leads to. */
    static Backend openSystem(String library) {
        System.loadLibrary(library);
        lookup = SymbolLookup.loaderLookup();
        Backend calls = new FfmBackend();
        calls.versionNumber();
        return calls;
    }

    @Override
    public String name() {
        return "ffm";
    }

    @Override
    public long address(ByteBuffer direct) {
        ByteBuffer whole = direct.duplicate();
        whole.clear();
        return MemorySegment.ofBuffer(whole).address();
    }

    @Override
    public String text(long address) {
        return address == 0 ? null : MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE).getString(0);
    }

    @Override
    public int versionNumber() {
        try {
            return (int) Calls.VERSION_NUMBER.invokeExact();
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public long features() {
        try {
            return (long) Calls.FEATURES.invokeExact();
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public String versionString() {
        try {
            return text((long) Calls.VERSION_STRING.invokeExact());
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public String statusName(int status) {
        try {
            return text((long) Calls.STATUS_NAME.invokeExact(status));
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public String kafkaErrorName(int kafkaCode) {
        try {
            return text((long) Calls.KAFKA_ERROR_NAME.invokeExact(kafkaCode));
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int abiCheck(int abi, long layoutHash, long err) {
        try {
            return (int) Calls.ABI_CHECK.invokeExact(abi, layoutHash, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int configCreate(int kind, long out, long err) {
        try {
            return (int) Calls.CONFIG_CREATE.invokeExact(kind, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int configSet(long config, long key, long keyLen, long value, long valueLen, long err) {
        try {
            return (int) Calls.CONFIG_SET.invokeExact(config, key, keyLen, value, valueLen, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int configSetTopic(long config, long topic, long topicLen, long key, long keyLen, long value,
            long valueLen, long err) {
        try {
            return (int) Calls.CONFIG_SET_TOPIC.invokeExact(config, topic, topicLen, key, keyLen, value, valueLen,
                    err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int configLoad(long config, long properties, long len, long err) {
        try {
            return (int) Calls.CONFIG_LOAD.invokeExact(config, properties, len, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int configGet(long config, long key, long keyLen, long buf, long cap, long needed, long err) {
        try {
            return (int) Calls.CONFIG_GET.invokeExact(config, key, keyLen, buf, cap, needed, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int configDescribe(int index, long buf, long cap, long needed, long err) {
        try {
            return (int) Calls.CONFIG_DESCRIBE.invokeExact(index, buf, cap, needed, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int configClose(long config) {
        try {
            return (int) Calls.CONFIG_CLOSE.invokeExact(config);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerOpen(long options, long out, long err) {
        try {
            return (int) Calls.MANAGER_OPEN.invokeExact(options, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerRefresh(long manager, long log, long err) {
        try {
            return (int) Calls.MANAGER_REFRESH.invokeExact(manager, log, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerInfo(long manager, long out, long err) {
        try {
            return (int) Calls.MANAGER_INFO.invokeExact(manager, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerReport(long manager, long buf, long cap, long needed, long err) {
        try {
            return (int) Calls.MANAGER_REPORT.invokeExact(manager, buf, cap, needed, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerList(long manager, long buf, long cap, long needed, long err) {
        try {
            return (int) Calls.MANAGER_LIST.invokeExact(manager, buf, cap, needed, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerDirInfo(long manager, int index, long buf, long cap, long needed, long state, long err) {
        try {
            return (int) Calls.MANAGER_DIR_INFO.invokeExact(manager, index, buf, cap, needed, state, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerSetConfig(long manager, long config, long err) {
        try {
            return (int) Calls.MANAGER_SET_CONFIG.invokeExact(manager, config, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerOpenProgress(long dir, long dirLen, long out, long buf, long cap, long needed, long err) {
        try {
            return (int) Calls.MANAGER_OPEN_PROGRESS.invokeExact(dir, dirLen, out, buf, cap, needed, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerResolve(long manager, long topic, long topicLen, int partition, int dropDir, long err) {
        try {
            return (int) Calls.MANAGER_RESOLVE.invokeExact(manager, topic, topicLen, partition, dropDir, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int managerClose(long manager, int flags, long timeoutMs, long err) {
        try {
            return (int) Calls.MANAGER_CLOSE.invokeExact(manager, flags, timeoutMs, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int metaCreate(long manager, int dir, long clusterId, long clusterIdLen, int nodeId, long directoryId,
            long err) {
        try {
            return (int) Calls.META_CREATE.invokeExact(manager, dir, clusterId, clusterIdLen, nodeId, directoryId,
                    err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int flushAll(long manager, int flags, long err) {
        try {
            return (int) Calls.FLUSH_ALL.invokeExact(manager, flags, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int checkpoint(long manager, int which, long err) {
        try {
            return (int) Calls.CHECKPOINT.invokeExact(manager, which, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int tick(long manager, long nowMs, long budgetUs, long out, long err) {
        try {
            return (int) Calls.TICK.invokeExact(manager, nowMs, budgetUs, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int retain(long manager, long log, int flags, long out, long err) {
        try {
            return (int) Calls.RETAIN.invokeExact(manager, log, flags, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int clean(long manager, long log, long options, long out, long err) {
        try {
            return (int) Calls.CLEAN.invokeExact(manager, log, options, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int metricDescribe(int index, long out, long err) {
        try {
            return (int) Calls.METRIC_DESCRIBE.invokeExact(index, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int metricsRead(long manager, long log, long values, long cap, long count, long err) {
        try {
            return (int) Calls.METRICS_READ.invokeExact(manager, log, values, cap, count, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int metricsText(long manager, int format, long buf, long cap, long needed, long err) {
        try {
            return (int) Calls.METRICS_TEXT.invokeExact(manager, format, buf, cap, needed, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logOpen(long manager, long topic, long topicLen, int partition, long options, long out, long err) {
        try {
            return (int) Calls.LOG_OPEN.invokeExact(manager, topic, topicLen, partition, options, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logRetry(long manager, long topic, long topicLen, int partition, long err) {
        try {
            return (int) Calls.LOG_RETRY.invokeExact(manager, topic, topicLen, partition, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logPromote(long manager, long topic, long topicLen, int partition, long err) {
        try {
            return (int) Calls.LOG_PROMOTE.invokeExact(manager, topic, topicLen, partition, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logSetConfig(long log, long config, long err) {
        try {
            return (int) Calls.LOG_SET_CONFIG.invokeExact(log, config, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logEndOffset(long log, long out) {
        try {
            return (int) Calls.LOG_END_OFFSET.invokeExact(log, out);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logInfo(long log, long out, long err) {
        try {
            return (int) Calls.LOG_INFO.invokeExact(log, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logMove(long log, int toDir, long timeoutMs, long cancel, long err) {
        try {
            return (int) Calls.LOG_MOVE.invokeExact(log, toDir, timeoutMs, cancel, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logDelete(long log, int flags, long err) {
        try {
            return (int) Calls.LOG_DELETE.invokeExact(log, flags, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int logClose(long log) {
        try {
            return (int) Calls.LOG_CLOSE.invokeExact(log);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int appendPacked(long log, long packed, long len, long options, long out, long err) {
        try {
            return (int) Calls.APPEND_PACKED.invokeExact(log, packed, len, options, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int appendBatches(long log, long batches, long len, long options, long out, long err) {
        try {
            return (int) Calls.APPEND_BATCHES.invokeExact(log, batches, len, options, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int appendOne(long log, long key, long keyLen, long value, long valueLen, long timestampMs, long offset,
            long err) {
        try {
            return (int) Calls.APPEND_ONE.invokeExact(log, key, keyLen, value, valueLen, timestampMs, offset, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int appendMarker(long log, long producerId, int producerEpoch, int commit, int coordinatorEpoch, long out,
            long err) {
        try {
            return (int) Calls.APPEND_MARKER.invokeExact(log, producerId, producerEpoch, commit, coordinatorEpoch,
                    out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int read(long log, long offset, long options, long buf, long cap, long out, long err) {
        try {
            return (int) Calls.READ.invokeExact(log, offset, options, buf, cap, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int offsetForTimestamp(long log, long timestampMs, long out, long err) {
        try {
            return (int) Calls.OFFSET_FOR_TIMESTAMP.invokeExact(log, timestampMs, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int offsetForEpoch(long log, int epoch, long out, long err) {
        try {
            return (int) Calls.OFFSET_FOR_EPOCH.invokeExact(log, epoch, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int epochAssign(long log, int epoch, long startOffset, long err) {
        try {
            return (int) Calls.EPOCH_ASSIGN.invokeExact(log, epoch, startOffset, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int highWatermarkSet(long log, long offset, long out, long err) {
        try {
            return (int) Calls.HIGH_WATERMARK_SET.invokeExact(log, offset, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int producers(long log, long buf, long cap, long needed, long err) {
        try {
            return (int) Calls.PRODUCERS.invokeExact(log, buf, cap, needed, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int abortedTxns(long log, long from, long upto, long buf, long cap, long needed, long err) {
        try {
            return (int) Calls.ABORTED_TXNS.invokeExact(log, from, upto, buf, cap, needed, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int flush(long log, long uptoOffset, int flags, long err) {
        try {
            return (int) Calls.FLUSH.invokeExact(log, uptoOffset, flags, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int roll(long log, long newBaseOffset, long err) {
        try {
            return (int) Calls.ROLL.invokeExact(log, newBaseOffset, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int truncateTo(long log, long offset, long truncated, long err) {
        try {
            return (int) Calls.TRUNCATE_TO.invokeExact(log, offset, truncated, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int truncateFully(long log, long newOffset, long logStartOffset, long err) {
        try {
            return (int) Calls.TRUNCATE_FULLY.invokeExact(log, newOffset, logStartOffset, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int deleteRecords(long log, long beforeOffset, long logStartOffset, long err) {
        try {
            return (int) Calls.DELETE_RECORDS.invokeExact(log, beforeOffset, logStartOffset, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cleanProgress(long log, long out, long err) {
        try {
            return (int) Calls.CLEAN_PROGRESS.invokeExact(log, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cleanPause(long log, long err) {
        try {
            return (int) Calls.CLEAN_PAUSE.invokeExact(log, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cleanResume(long log, long err) {
        try {
            return (int) Calls.CLEAN_RESUME.invokeExact(log, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cleanAwait(long log, long offset, long timeoutMs, long cancel, long err) {
        try {
            return (int) Calls.CLEAN_AWAIT.invokeExact(log, offset, timeoutMs, cancel, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cursorOpen(long log, long offset, long options, long out, long err) {
        try {
            return (int) Calls.CURSOR_OPEN.invokeExact(log, offset, options, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cursorNextPacked(long cursor, long buf, long cap, long out, long err) {
        try {
            return (int) Calls.CURSOR_NEXT_PACKED.invokeExact(cursor, buf, cap, out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cursorSeek(long cursor, long offset, long err) {
        try {
            return (int) Calls.CURSOR_SEEK.invokeExact(cursor, offset, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cursorClose(long cursor) {
        try {
            return (int) Calls.CURSOR_CLOSE.invokeExact(cursor);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cancelCreate(long out, long err) {
        try {
            return (int) Calls.CANCEL_CREATE.invokeExact(out, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cancelFire(long cancel) {
        try {
            return (int) Calls.CANCEL_FIRE.invokeExact(cancel);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int cancelClose(long cancel) {
        try {
            return (int) Calls.CANCEL_CLOSE.invokeExact(cancel);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int eventsOpen(long manager, long mask, long capacity, long out, long fd, long err) {
        try {
            return (int) Calls.EVENTS_OPEN.invokeExact(manager, mask, capacity, out, fd, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int eventsPoll(long events, long buf, long cap, long count, long timeoutMs, long cancel, long err) {
        try {
            return (int) Calls.EVENTS_POLL.invokeExact(events, buf, cap, count, timeoutMs, cancel, err);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    @Override
    public int eventsClose(long events) {
        try {
            return (int) Calls.EVENTS_CLOSE.invokeExact(events);
        } catch (Throwable failure) {
            throw broken(failure);
        }
    }

    /** A downcall throws nothing of its own; what arrives here is the JVM's. */
    private static Error broken(Throwable failure) {
        return failure instanceof Error ? (Error) failure : new AssertionError(failure);
    }

    /** The functions, bound when the first is called: constants, so that calls are compiled into their callers. */
    private static final class Calls {
        static final MethodHandle VERSION_NUMBER = bind("klog_version_number", "I");
        static final MethodHandle FEATURES = bind("klog_features", "J");
        static final MethodHandle VERSION_STRING = bind("klog_version_string", "J");
        static final MethodHandle STATUS_NAME = bind("klog_status_name", "JI");
        static final MethodHandle KAFKA_ERROR_NAME = bind("klog_kafka_error_name", "JI");
        static final MethodHandle ABI_CHECK = bind("klog_abi_check", "IIJJ");
        static final MethodHandle CONFIG_CREATE = bind("klog_config_create", "IIJJ");
        static final MethodHandle CONFIG_SET = bind("klog_config_set", "IJJJJJJ");
        static final MethodHandle CONFIG_SET_TOPIC = bind("klog_config_set_topic", "IJJJJJJJJ");
        static final MethodHandle CONFIG_LOAD = bind("klog_config_load", "IJJJJ");
        static final MethodHandle CONFIG_GET = bind("klog_config_get", "IJJJJJJJ");
        static final MethodHandle CONFIG_DESCRIBE = bind("klog_config_describe", "IIJJJJ");
        static final MethodHandle CONFIG_CLOSE = bind("klog_config_close", "IJ");
        static final MethodHandle MANAGER_OPEN = bind("klog_manager_open", "IJJJ");
        static final MethodHandle MANAGER_REFRESH = bind("klog_manager_refresh", "IJJJ");
        static final MethodHandle MANAGER_INFO = bind("klog_manager_get_info", "IJJJ");
        static final MethodHandle MANAGER_REPORT = bind("klog_manager_report", "IJJJJJ");
        static final MethodHandle MANAGER_LIST = bind("klog_manager_list", "IJJJJJ");
        static final MethodHandle MANAGER_DIR_INFO = bind("klog_manager_dir_info", "IJIJJJJJ");
        static final MethodHandle MANAGER_SET_CONFIG = bind("klog_manager_set_config", "IJJJ");
        static final MethodHandle MANAGER_OPEN_PROGRESS = bind("klog_manager_open_progress", "IJJJJJJJ");
        static final MethodHandle MANAGER_RESOLVE = bind("klog_manager_resolve", "IJJJIIJ");
        static final MethodHandle MANAGER_CLOSE = bind("klog_manager_close", "IJIJJ");
        static final MethodHandle META_CREATE = bind("klog_meta_create", "IJIJJIJJ");
        static final MethodHandle FLUSH_ALL = bind("klog_flush_all", "IJIJ");
        static final MethodHandle CHECKPOINT = bind("klog_checkpoint", "IJIJ");
        static final MethodHandle TICK = bind("klog_tick", "IJJJJJ");
        static final MethodHandle RETAIN = bind("klog_retain", "IJJIJJ");
        static final MethodHandle CLEAN = bind("klog_clean", "IJJJJJ");
        static final MethodHandle METRIC_DESCRIBE = bind("klog_metric_describe", "IIJJ");
        static final MethodHandle METRICS_READ = bind("klog_metrics_read", "IJJJJJJ");
        static final MethodHandle METRICS_TEXT = bind("klog_metrics_text", "IJIJJJJ");
        static final MethodHandle LOG_OPEN = bind("klog_log_open", "IJJJIJJJ");
        static final MethodHandle LOG_RETRY = bind("klog_log_retry", "IJJJIJ");
        static final MethodHandle LOG_PROMOTE = bind("klog_log_promote", "IJJJIJ");
        static final MethodHandle LOG_SET_CONFIG = bind("klog_log_set_config", "IJJJ");
        static final MethodHandle LOG_END_OFFSET = quick("klog_log_end_offset", "IJJ");
        static final MethodHandle LOG_INFO = bind("klog_log_get_info", "IJJJ");
        static final MethodHandle LOG_MOVE = bind("klog_log_move", "IJIJJJ");
        static final MethodHandle LOG_DELETE = bind("klog_log_delete", "IJIJ");
        static final MethodHandle LOG_CLOSE = bind("klog_log_close", "IJ");
        static final MethodHandle APPEND_PACKED = bind("klog_append_packed", "IJJJJJJ");
        static final MethodHandle APPEND_BATCHES = bind("klog_append_batches", "IJJJJJJ");
        static final MethodHandle APPEND_ONE = bind("klog_append_one", "IJJJJJJJJ");
        static final MethodHandle APPEND_MARKER = bind("klog_append_marker", "IJJIIIJJ");
        static final MethodHandle READ = bind("klog_read", "IJJJJJJJ");
        static final MethodHandle OFFSET_FOR_TIMESTAMP = bind("klog_offset_for_timestamp", "IJJJJ");
        static final MethodHandle OFFSET_FOR_EPOCH = bind("klog_offset_for_epoch", "IJIJJ");
        static final MethodHandle EPOCH_ASSIGN = bind("klog_epoch_assign", "IJIJJ");
        static final MethodHandle HIGH_WATERMARK_SET = bind("klog_high_watermark_set", "IJJJJ");
        static final MethodHandle PRODUCERS = bind("klog_producers", "IJJJJJ");
        static final MethodHandle ABORTED_TXNS = bind("klog_aborted_txns", "IJJJJJJJ");
        static final MethodHandle FLUSH = bind("klog_flush", "IJJIJ");
        static final MethodHandle ROLL = bind("klog_roll", "IJJJ");
        static final MethodHandle TRUNCATE_TO = bind("klog_truncate_to", "IJJJJ");
        static final MethodHandle TRUNCATE_FULLY = bind("klog_truncate_fully", "IJJJJ");
        static final MethodHandle DELETE_RECORDS = bind("klog_delete_records", "IJJJJ");
        static final MethodHandle CLEAN_PROGRESS = bind("klog_clean_get_progress", "IJJJ");
        static final MethodHandle CLEAN_PAUSE = bind("klog_clean_pause", "IJJ");
        static final MethodHandle CLEAN_RESUME = bind("klog_clean_resume", "IJJ");
        static final MethodHandle CLEAN_AWAIT = bind("klog_clean_await", "IJJJJJ");
        static final MethodHandle CURSOR_OPEN = bind("klog_cursor_open", "IJJJJJ");
        static final MethodHandle CURSOR_NEXT_PACKED = bind("klog_cursor_next_packed", "IJJJJJ");
        static final MethodHandle CURSOR_SEEK = bind("klog_cursor_seek", "IJJJ");
        static final MethodHandle CURSOR_CLOSE = bind("klog_cursor_close", "IJ");
        static final MethodHandle CANCEL_CREATE = bind("klog_cancel_create", "IJJ");
        static final MethodHandle CANCEL_FIRE = bind("klog_cancel_fire", "IJ");
        static final MethodHandle CANCEL_CLOSE = bind("klog_cancel_close", "IJ");
        static final MethodHandle EVENTS_OPEN = bind("klog_events_open", "IJJJJJJ");
        static final MethodHandle EVENTS_POLL = bind("klog_events_poll", "IJJJJJJJ");
        static final MethodHandle EVENTS_CLOSE = bind("klog_events_close", "IJ");

        private Calls() {
        }

        /** The signature is the answer's type, then those of the arguments: I or J. */
        private static MethodHandle bind(String function, String signature) {
            return bind(function, signature, new Linker.Option[0]);
        }

        /** For what neither waits nor takes locks: the garbage collector waits until such a call is over. */
        private static MethodHandle quick(String function, String signature) {
            return bind(function, signature, Linker.Option.critical(false));
        }

        private static MethodHandle bind(String function, String signature, Linker.Option... options) {
            MemoryLayout[] arguments = new MemoryLayout[signature.length() - 1];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = layout(signature.charAt(i + 1));
            }
            MemorySegment address = lookup.find(function)
                    .orElseThrow(() -> new UnsatisfiedLinkError("the library has no function " + function));
            return Linker.nativeLinker()
                    .downcallHandle(address, FunctionDescriptor.of(layout(signature.charAt(0)), arguments), options);
        }

        private static MemoryLayout layout(char type) {
            return type == 'I' ? ValueLayout.JAVA_INT : ValueLayout.JAVA_LONG;
        }
    }
}
