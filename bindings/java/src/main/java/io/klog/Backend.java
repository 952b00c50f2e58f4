package io.klog;

import java.nio.ByteBuffer;

/**
 * The functions of klog.h, one method each, over JNI or over java.lang.foreign.
 *
 * <p>Nothing is translated here: a handle is its id, a pointer or a size is a long, the answer is the status. Structs are
 * laid out by the callers, in direct memory, at the offsets of {@link Layout}; so they are so once for both ways.
 * Whoever calls keeps the buffers reachable until the call is over ({@link Reachability}).
 */
interface Backend {
    /** How this one calls, for {@link Klog#backend()}. */
    String name();

    /** The address of the first byte of a direct buffer, wherever its position is. */
    long address(ByteBuffer direct);

    /** The text, ended by a NUL, that is at an address. */
    String text(long address);

    int versionNumber();

    long features();

    String versionString();

    String statusName(int status);

    String kafkaErrorName(int kafkaCode);

    int abiCheck(int abi, long layoutHash, long err);

    int configCreate(int kind, long out, long err);

    int configSet(long config, long key, long keyLen, long value, long valueLen, long err);

    int configSetTopic(long config, long topic, long topicLen, long key, long keyLen, long value, long valueLen,
            long err);

    int configLoad(long config, long properties, long len, long err);

    int configGet(long config, long key, long keyLen, long buf, long cap, long needed, long err);

    int configDescribe(int index, long buf, long cap, long needed, long err);

    int configClose(long config);

    int managerOpen(long options, long out, long err);

    int managerRefresh(long manager, long log, long err);

    int managerInfo(long manager, long out, long err);

    int managerReport(long manager, long buf, long cap, long needed, long err);

    int managerList(long manager, long buf, long cap, long needed, long err);

    int managerDirInfo(long manager, int index, long buf, long cap, long needed, long state, long err);

    int managerSetConfig(long manager, long config, long err);

    int managerOpenProgress(long dir, long dirLen, long out, long buf, long cap, long needed, long err);

    int managerResolve(long manager, long topic, long topicLen, int partition, int dropDir, long err);

    int managerClose(long manager, int flags, long timeoutMs, long err);

    int metaCreate(long manager, int dir, long clusterId, long clusterIdLen, int nodeId, long directoryId, long err);

    int flushAll(long manager, int flags, long err);

    int checkpoint(long manager, int which, long err);

    int tick(long manager, long nowMs, long budgetUs, long out, long err);

    int retain(long manager, long log, int flags, long out, long err);

    int clean(long manager, long log, long options, long out, long err);

    int metricDescribe(int index, long out, long err);

    int metricsRead(long manager, long log, long values, long cap, long count, long err);

    int metricsText(long manager, int format, long buf, long cap, long needed, long err);

    int logOpen(long manager, long topic, long topicLen, int partition, long options, long out, long err);

    int logRetry(long manager, long topic, long topicLen, int partition, long err);

    int logPromote(long manager, long topic, long topicLen, int partition, long err);

    int logSetConfig(long log, long config, long err);

    int logEndOffset(long log, long out);

    int logInfo(long log, long out, long err);

    int logMove(long log, int toDir, long timeoutMs, long cancel, long err);

    int logDelete(long log, int flags, long err);

    int logClose(long log);

    int appendPacked(long log, long packed, long len, long options, long out, long err);

    int appendBatches(long log, long batches, long len, long options, long out, long err);

    int appendOne(long log, long key, long keyLen, long value, long valueLen, long timestampMs, long offset,
            long err);

    int appendMarker(long log, long producerId, int producerEpoch, int commit, int coordinatorEpoch, long out,
            long err);

    int read(long log, long offset, long options, long buf, long cap, long out, long err);

    int offsetForTimestamp(long log, long timestampMs, long out, long err);

    int offsetForEpoch(long log, int epoch, long out, long err);

    int epochAssign(long log, int epoch, long startOffset, long err);

    int highWatermarkSet(long log, long offset, long out, long err);

    int producers(long log, long buf, long cap, long needed, long err);

    int abortedTxns(long log, long from, long upto, long buf, long cap, long needed, long err);

    int flush(long log, long uptoOffset, int flags, long err);

    int roll(long log, long newBaseOffset, long err);

    int truncateTo(long log, long offset, long truncated, long err);

    int truncateFully(long log, long newOffset, long logStartOffset, long err);

    int deleteRecords(long log, long beforeOffset, long logStartOffset, long err);

    int cleanProgress(long log, long out, long err);

    int cleanPause(long log, long err);

    int cleanResume(long log, long err);

    int cleanAwait(long log, long offset, long timeoutMs, long cancel, long err);

    int cursorOpen(long log, long offset, long options, long out, long err);

    int cursorNextPacked(long cursor, long buf, long cap, long out, long err);

    int cursorSeek(long cursor, long offset, long err);

    int cursorClose(long cursor);

    int cancelCreate(long out, long err);

    int cancelFire(long cancel);

    int cancelClose(long cancel);

    int eventsOpen(long manager, long mask, long capacity, long out, long fd, long err);

    int eventsPoll(long events, long buf, long cap, long count, long timeoutMs, long cancel, long err);

    int eventsClose(long events);
}
