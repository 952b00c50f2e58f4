package io.klog;

import java.nio.ByteBuffer;

/** The functions of klog.h over JNI; src/main/c/klogjni.c is the other side. */
final class JniBackend implements Backend {
    private JniBackend() {
    }

    /** Loads the library; its JNI_OnLoad binds the methods below. */
    static Backend open(String path) {
        System.load(path);
        return new JniBackend();
    }

    /** As open, with the file that java.library.path leads to. */
    static Backend openSystem(String library) {
        System.loadLibrary(library);
        return new JniBackend();
    }

    @Override
    public String name() {
        return "jni";
    }

    @Override
    public native long address(ByteBuffer direct);

    @Override
    public native String text(long address);

    @Override
    public native int versionNumber();

    @Override
    public native long features();

    @Override
    public native String versionString();

    @Override
    public native String statusName(int status);

    @Override
    public native String kafkaErrorName(int kafkaCode);

    @Override
    public native int abiCheck(int abi, long layoutHash, long err);

    @Override
    public native int configCreate(int kind, long out, long err);

    @Override
    public native int configSet(long config, long key, long keyLen, long value, long valueLen, long err);

    @Override
    public native int configSetTopic(long config, long topic, long topicLen, long key, long keyLen, long value,
            long valueLen, long err);

    @Override
    public native int configLoad(long config, long properties, long len, long err);

    @Override
    public native int configGet(long config, long key, long keyLen, long buf, long cap, long needed, long err);

    @Override
    public native int configDescribe(int index, long buf, long cap, long needed, long err);

    @Override
    public native int configClose(long config);

    @Override
    public native int managerOpen(long options, long out, long err);

    @Override
    public native int managerRefresh(long manager, long log, long err);

    @Override
    public native int managerInfo(long manager, long out, long err);

    @Override
    public native int managerReport(long manager, long buf, long cap, long needed, long err);

    @Override
    public native int managerList(long manager, long buf, long cap, long needed, long err);

    @Override
    public native int managerDirInfo(long manager, int index, long buf, long cap, long needed, long state, long err);

    @Override
    public native int managerSetConfig(long manager, long config, long err);

    @Override
    public native int managerOpenProgress(long dir, long dirLen, long out, long buf, long cap, long needed, long err);

    @Override
    public native int managerResolve(long manager, long topic, long topicLen, int partition, int dropDir, long err);

    @Override
    public native int managerClose(long manager, int flags, long timeoutMs, long err);

    @Override
    public native int metaCreate(long manager, int dir, long clusterId, long clusterIdLen, int nodeId,
            long directoryId, long err);

    @Override
    public native int flushAll(long manager, int flags, long err);

    @Override
    public native int checkpoint(long manager, int which, long err);

    @Override
    public native int tick(long manager, long nowMs, long budgetUs, long out, long err);

    @Override
    public native int retain(long manager, long log, int flags, long out, long err);

    @Override
    public native int clean(long manager, long log, long options, long out, long err);

    @Override
    public native int metricDescribe(int index, long out, long err);

    @Override
    public native int metricsRead(long manager, long log, long values, long cap, long count, long err);

    @Override
    public native int metricsText(long manager, int format, long buf, long cap, long needed, long err);

    @Override
    public native int logOpen(long manager, long topic, long topicLen, int partition, long options, long out,
            long err);

    @Override
    public native int logRetry(long manager, long topic, long topicLen, int partition, long err);

    @Override
    public native int logPromote(long manager, long topic, long topicLen, int partition, long err);

    @Override
    public native int logSetConfig(long log, long config, long err);

    @Override
    public native int logEndOffset(long log, long out);

    @Override
    public native int logInfo(long log, long out, long err);

    @Override
    public native int logMove(long log, int toDir, long timeoutMs, long cancel, long err);

    @Override
    public native int logDelete(long log, int flags, long err);

    @Override
    public native int logClose(long log);

    @Override
    public native int appendPacked(long log, long packed, long len, long options, long out, long err);

    @Override
    public native int appendBatches(long log, long batches, long len, long options, long out, long err);

    @Override
    public native int appendOne(long log, long key, long keyLen, long value, long valueLen, long timestampMs,
            long offset, long err);

    @Override
    public native int appendMarker(long log, long producerId, int producerEpoch, int commit, int coordinatorEpoch,
            long out, long err);

    @Override
    public native int read(long log, long offset, long options, long buf, long cap, long out, long err);

    @Override
    public native int offsetForTimestamp(long log, long timestampMs, long out, long err);

    @Override
    public native int offsetForEpoch(long log, int epoch, long out, long err);

    @Override
    public native int epochAssign(long log, int epoch, long startOffset, long err);

    @Override
    public native int highWatermarkSet(long log, long offset, long out, long err);

    @Override
    public native int producers(long log, long buf, long cap, long needed, long err);

    @Override
    public native int abortedTxns(long log, long from, long upto, long buf, long cap, long needed, long err);

    @Override
    public native int flush(long log, long uptoOffset, int flags, long err);

    @Override
    public native int roll(long log, long newBaseOffset, long err);

    @Override
    public native int truncateTo(long log, long offset, long truncated, long err);

    @Override
    public native int truncateFully(long log, long newOffset, long logStartOffset, long err);

    @Override
    public native int deleteRecords(long log, long beforeOffset, long logStartOffset, long err);

    @Override
    public native int cleanProgress(long log, long out, long err);

    @Override
    public native int cleanPause(long log, long err);

    @Override
    public native int cleanResume(long log, long err);

    @Override
    public native int cleanAwait(long log, long offset, long timeoutMs, long cancel, long err);

    @Override
    public native int cursorOpen(long log, long offset, long options, long out, long err);

    @Override
    public native int cursorNextPacked(long cursor, long buf, long cap, long out, long err);

    @Override
    public native int cursorSeek(long cursor, long offset, long err);

    @Override
    public native int cursorClose(long cursor);

    @Override
    public native int cancelCreate(long out, long err);

    @Override
    public native int cancelFire(long cancel);

    @Override
    public native int cancelClose(long cancel);

    @Override
    public native int eventsOpen(long manager, long mask, long capacity, long out, long fd, long err);

    @Override
    public native int eventsPoll(long events, long buf, long cap, long count, long timeoutMs, long cancel, long err);

    @Override
    public native int eventsClose(long events);
}
