/*
 * The functions of klog.h for io.klog.JniBackend: handles arrive as their ids, pointers as numbers. Nothing is copied, kept
 * or translated; there are no callbacks into Java and no critical regions. klog checks what it is given.
 */
#include <jni.h>

#include "klog.h"

#define H(type, id) ((type){ (uint64_t)(id) })
#define P(address) ((void *)(intptr_t)(address))
#define Z(size) ((size_t)(size))
#define U(bits) ((uint32_t)(bits))
#define CALL(kind, name, ...) static kind JNICALL name(JNIEnv *env, jobject self, ##__VA_ARGS__)
#define UNUSED ((void)env, (void)self)

CALL(jlong, address, jobject direct) {
    UNUSED;
    return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, direct);
}

CALL(jstring, text, jlong at) {
    UNUSED;
    return (*env)->NewStringUTF(env, P(at));
}

CALL(jint, c_versionNumber) {
    UNUSED;
    return (jint)klog_version_number();
}

CALL(jlong, c_features) {
    UNUSED;
    return (jlong)klog_features();
}

CALL(jstring, c_versionString) {
    UNUSED;
    return (*env)->NewStringUTF(env, klog_version_string());
}

CALL(jstring, c_statusName, jint status) {
    UNUSED;
    return (*env)->NewStringUTF(env, klog_status_name(status));
}

CALL(jstring, c_kafkaErrorName, jint kafkaCode) {
    UNUSED;
    return (*env)->NewStringUTF(env, klog_kafka_error_name(kafkaCode));
}

CALL(jint, c_abiCheck, jint abi, jlong layoutHash, jlong err) {
    UNUSED;
    return klog_abi_check(U(abi), (uint64_t)layoutHash, P(err));
}

CALL(jint, c_configCreate, jint kind, jlong out, jlong err) {
    UNUSED;
    return klog_config_create(U(kind), P(out), P(err));
}

CALL(jint, c_configSet, jlong config, jlong key, jlong keyLen, jlong value, jlong valueLen, jlong err) {
    UNUSED;
    return klog_config_set(H(klog_config, config), P(key), Z(keyLen), P(value), Z(valueLen), P(err));
}

CALL(jint, c_configSetTopic, jlong config, jlong topic, jlong topicLen, jlong key, jlong keyLen, jlong value,
     jlong valueLen, jlong err) {
    UNUSED;
    return klog_config_set_topic(H(klog_config, config), P(topic), Z(topicLen), P(key), Z(keyLen), P(value),
           Z(valueLen), P(err));
}

CALL(jint, c_configLoad, jlong config, jlong properties, jlong len, jlong err) {
    UNUSED;
    return klog_config_load(H(klog_config, config), P(properties), Z(len), P(err));
}

CALL(jint, c_configGet, jlong config, jlong key, jlong keyLen, jlong buf, jlong cap, jlong needed, jlong err) {
    UNUSED;
    return klog_config_get(H(klog_config, config), P(key), Z(keyLen), P(buf), Z(cap), P(needed), P(err));
}

CALL(jint, c_configDescribe, jint index, jlong buf, jlong cap, jlong needed, jlong err) {
    UNUSED;
    return klog_config_describe(U(index), P(buf), Z(cap), P(needed), P(err));
}

CALL(jint, c_configClose, jlong config) {
    UNUSED;
    return klog_config_close(H(klog_config, config));
}

CALL(jint, c_managerOpen, jlong options, jlong out, jlong err) {
    UNUSED;
    return klog_manager_open(P(options), P(out), P(err));
}

CALL(jint, c_managerRefresh, jlong manager, jlong log, jlong err) {
    UNUSED;
    return klog_manager_refresh(H(klog_manager, manager), H(klog_log, log), P(err));
}

CALL(jint, c_managerInfo, jlong manager, jlong out, jlong err) {
    UNUSED;
    return klog_manager_get_info(H(klog_manager, manager), P(out), P(err));
}

CALL(jint, c_managerReport, jlong manager, jlong buf, jlong cap, jlong needed, jlong err) {
    UNUSED;
    return klog_manager_report(H(klog_manager, manager), P(buf), Z(cap), P(needed), P(err));
}

CALL(jint, c_managerList, jlong manager, jlong buf, jlong cap, jlong needed, jlong err) {
    UNUSED;
    return klog_manager_list(H(klog_manager, manager), P(buf), Z(cap), P(needed), P(err));
}

CALL(jint, c_managerDirInfo, jlong manager, jint index, jlong buf, jlong cap, jlong needed, jlong state, jlong err) {
    UNUSED;
    return klog_manager_dir_info(H(klog_manager, manager), U(index), P(buf), Z(cap), P(needed), P(state), P(err));
}

CALL(jint, c_managerSetConfig, jlong manager, jlong config, jlong err) {
    UNUSED;
    return klog_manager_set_config(H(klog_manager, manager), H(klog_config, config), P(err));
}

CALL(jint, c_managerOpenProgress, jlong dir, jlong dirLen, jlong out, jlong buf, jlong cap, jlong needed, jlong err) {
    UNUSED;
    return klog_manager_open_progress(P(dir), Z(dirLen), P(out), P(buf), Z(cap), P(needed), P(err));
}

CALL(jint, c_managerResolve, jlong manager, jlong topic, jlong topicLen, jint partition, jint dropDir, jlong err) {
    UNUSED;
    return klog_manager_resolve(H(klog_manager, manager), P(topic), Z(topicLen), partition, U(dropDir), P(err));
}

CALL(jint, c_managerClose, jlong manager, jint flags, jlong timeoutMs, jlong err) {
    UNUSED;
    return klog_manager_close(H(klog_manager, manager), U(flags), timeoutMs, P(err));
}

CALL(jint, c_metaCreate, jlong manager, jint dir, jlong clusterId, jlong clusterIdLen, jint nodeId, jlong directoryId,
     jlong err) {
    UNUSED;
    return klog_meta_create(H(klog_manager, manager), U(dir), P(clusterId), Z(clusterIdLen), nodeId, P(directoryId),
           P(err));
}

CALL(jint, c_flushAll, jlong manager, jint flags, jlong err) {
    UNUSED;
    return klog_flush_all(H(klog_manager, manager), U(flags), P(err));
}

CALL(jint, c_checkpoint, jlong manager, jint which, jlong err) {
    UNUSED;
    return klog_checkpoint(H(klog_manager, manager), U(which), P(err));
}

CALL(jint, c_tick, jlong manager, jlong nowMs, jlong budgetUs, jlong out, jlong err) {
    UNUSED;
    return klog_tick(H(klog_manager, manager), nowMs, budgetUs, P(out), P(err));
}

CALL(jint, c_retain, jlong manager, jlong log, jint flags, jlong out, jlong err) {
    UNUSED;
    return klog_retain(H(klog_manager, manager), H(klog_log, log), U(flags), P(out), P(err));
}

CALL(jint, c_clean, jlong manager, jlong log, jlong options, jlong out, jlong err) {
    UNUSED;
    return klog_clean(H(klog_manager, manager), H(klog_log, log), P(options), P(out), P(err));
}

CALL(jint, c_metricDescribe, jint index, jlong out, jlong err) {
    UNUSED;
    return klog_metric_describe(U(index), P(out), P(err));
}

CALL(jint, c_metricsRead, jlong manager, jlong log, jlong values, jlong cap, jlong count, jlong err) {
    UNUSED;
    return klog_metrics_read(H(klog_manager, manager), H(klog_log, log), P(values), Z(cap), P(count), P(err));
}

CALL(jint, c_metricsText, jlong manager, jint format, jlong buf, jlong cap, jlong needed, jlong err) {
    UNUSED;
    return klog_metrics_text(H(klog_manager, manager), U(format), P(buf), Z(cap), P(needed), P(err));
}

CALL(jint, c_logOpen, jlong manager, jlong topic, jlong topicLen, jint partition, jlong options, jlong out,
     jlong err) {
    UNUSED;
    return klog_log_open(H(klog_manager, manager), P(topic), Z(topicLen), partition, P(options), P(out), P(err));
}

CALL(jint, c_logRetry, jlong manager, jlong topic, jlong topicLen, jint partition, jlong err) {
    UNUSED;
    return klog_log_retry(H(klog_manager, manager), P(topic), Z(topicLen), partition, P(err));
}

CALL(jint, c_logPromote, jlong manager, jlong topic, jlong topicLen, jint partition, jlong err) {
    UNUSED;
    return klog_log_promote(H(klog_manager, manager), P(topic), Z(topicLen), partition, P(err));
}

CALL(jint, c_logSetConfig, jlong log, jlong config, jlong err) {
    UNUSED;
    return klog_log_set_config(H(klog_log, log), H(klog_config, config), P(err));
}

CALL(jint, c_logEndOffset, jlong log, jlong out) {
    UNUSED;
    return klog_log_end_offset(H(klog_log, log), P(out));
}

CALL(jint, c_logInfo, jlong log, jlong out, jlong err) {
    UNUSED;
    return klog_log_get_info(H(klog_log, log), P(out), P(err));
}

CALL(jint, c_logMove, jlong log, jint toDir, jlong timeoutMs, jlong cancel, jlong err) {
    UNUSED;
    return klog_log_move(H(klog_log, log), U(toDir), timeoutMs, H(klog_cancel, cancel), P(err));
}

CALL(jint, c_logDelete, jlong log, jint flags, jlong err) {
    UNUSED;
    return klog_log_delete(H(klog_log, log), U(flags), P(err));
}

CALL(jint, c_logClose, jlong log) {
    UNUSED;
    return klog_log_close(H(klog_log, log));
}

CALL(jint, c_appendPacked, jlong log, jlong packed, jlong len, jlong options, jlong out, jlong err) {
    UNUSED;
    return klog_append_packed(H(klog_log, log), P(packed), Z(len), P(options), P(out), P(err));
}

CALL(jint, c_appendBatches, jlong log, jlong batches, jlong len, jlong options, jlong out, jlong err) {
    UNUSED;
    return klog_append_batches(H(klog_log, log), P(batches), Z(len), P(options), P(out), P(err));
}

CALL(jint, c_appendOne, jlong log, jlong key, jlong keyLen, jlong value, jlong valueLen, jlong timestampMs,
     jlong offset, jlong err) {
    UNUSED;
    return klog_append_one(H(klog_log, log), P(key), Z(keyLen), P(value), Z(valueLen), timestampMs, P(offset),
           P(err));
}

CALL(jint, c_appendMarker, jlong log, jlong producerId, jint producerEpoch, jint commit, jint coordinatorEpoch,
     jlong out, jlong err) {
    UNUSED;
    return klog_append_marker(H(klog_log, log), producerId, producerEpoch, U(commit), coordinatorEpoch, P(out),
           P(err));
}

CALL(jint, c_read, jlong log, jlong offset, jlong options, jlong buf, jlong cap, jlong out, jlong err) {
    UNUSED;
    return klog_read(H(klog_log, log), offset, P(options), P(buf), Z(cap), P(out), P(err));
}

CALL(jint, c_offsetForTimestamp, jlong log, jlong timestampMs, jlong out, jlong err) {
    UNUSED;
    return klog_offset_for_timestamp(H(klog_log, log), timestampMs, P(out), P(err));
}

CALL(jint, c_offsetForEpoch, jlong log, jint epoch, jlong out, jlong err) {
    UNUSED;
    return klog_offset_for_epoch(H(klog_log, log), epoch, P(out), P(err));
}

CALL(jint, c_epochAssign, jlong log, jint epoch, jlong startOffset, jlong err) {
    UNUSED;
    return klog_epoch_assign(H(klog_log, log), epoch, startOffset, P(err));
}

CALL(jint, c_highWatermarkSet, jlong log, jlong offset, jlong out, jlong err) {
    UNUSED;
    return klog_high_watermark_set(H(klog_log, log), offset, P(out), P(err));
}

CALL(jint, c_producers, jlong log, jlong buf, jlong cap, jlong needed, jlong err) {
    UNUSED;
    return klog_producers(H(klog_log, log), P(buf), Z(cap), P(needed), P(err));
}

CALL(jint, c_abortedTxns, jlong log, jlong from, jlong upto, jlong buf, jlong cap, jlong needed, jlong err) {
    UNUSED;
    return klog_aborted_txns(H(klog_log, log), from, upto, P(buf), Z(cap), P(needed), P(err));
}

CALL(jint, c_flush, jlong log, jlong uptoOffset, jint flags, jlong err) {
    UNUSED;
    return klog_flush(H(klog_log, log), uptoOffset, U(flags), P(err));
}

CALL(jint, c_roll, jlong log, jlong newBaseOffset, jlong err) {
    UNUSED;
    return klog_roll(H(klog_log, log), P(newBaseOffset), P(err));
}

CALL(jint, c_truncateTo, jlong log, jlong offset, jlong truncated, jlong err) {
    UNUSED;
    return klog_truncate_to(H(klog_log, log), offset, P(truncated), P(err));
}

CALL(jint, c_truncateFully, jlong log, jlong newOffset, jlong logStartOffset, jlong err) {
    UNUSED;
    return klog_truncate_fully(H(klog_log, log), newOffset, logStartOffset, P(err));
}

CALL(jint, c_deleteRecords, jlong log, jlong beforeOffset, jlong logStartOffset, jlong err) {
    UNUSED;
    return klog_delete_records(H(klog_log, log), beforeOffset, P(logStartOffset), P(err));
}

CALL(jint, c_cleanProgress, jlong log, jlong out, jlong err) {
    UNUSED;
    return klog_clean_get_progress(H(klog_log, log), P(out), P(err));
}

CALL(jint, c_cleanPause, jlong log, jlong err) {
    UNUSED;
    return klog_clean_pause(H(klog_log, log), P(err));
}

CALL(jint, c_cleanResume, jlong log, jlong err) {
    UNUSED;
    return klog_clean_resume(H(klog_log, log), P(err));
}

CALL(jint, c_cleanAwait, jlong log, jlong offset, jlong timeoutMs, jlong cancel, jlong err) {
    UNUSED;
    return klog_clean_await(H(klog_log, log), offset, timeoutMs, H(klog_cancel, cancel), P(err));
}

CALL(jint, c_cursorOpen, jlong log, jlong offset, jlong options, jlong out, jlong err) {
    UNUSED;
    return klog_cursor_open(H(klog_log, log), offset, P(options), P(out), P(err));
}

CALL(jint, c_cursorNextPacked, jlong cursor, jlong buf, jlong cap, jlong out, jlong err) {
    UNUSED;
    return klog_cursor_next_packed(H(klog_cursor, cursor), P(buf), Z(cap), P(out), P(err));
}

CALL(jint, c_cursorSeek, jlong cursor, jlong offset, jlong err) {
    UNUSED;
    return klog_cursor_seek(H(klog_cursor, cursor), offset, P(err));
}

CALL(jint, c_cursorClose, jlong cursor) {
    UNUSED;
    return klog_cursor_close(H(klog_cursor, cursor));
}

CALL(jint, c_cancelCreate, jlong out, jlong err) {
    UNUSED;
    return klog_cancel_create(P(out), P(err));
}

CALL(jint, c_cancelFire, jlong cancel) {
    UNUSED;
    return klog_cancel_fire(H(klog_cancel, cancel));
}

CALL(jint, c_cancelClose, jlong cancel) {
    UNUSED;
    return klog_cancel_close(H(klog_cancel, cancel));
}

CALL(jint, c_eventsOpen, jlong manager, jlong mask, jlong capacity, jlong out, jlong fd, jlong err) {
    UNUSED;
    return klog_events_open(H(klog_manager, manager), (uint64_t)mask, Z(capacity), P(out), P(fd), P(err));
}

CALL(jint, c_eventsPoll, jlong events, jlong buf, jlong cap, jlong count, jlong timeoutMs, jlong cancel, jlong err) {
    UNUSED;
    return klog_events_poll(H(klog_events, events), P(buf), Z(cap), P(count), timeoutMs, H(klog_cancel, cancel),
           P(err));
}

CALL(jint, c_eventsClose, jlong events) {
    UNUSED;
    return klog_events_close(H(klog_events, events));
}

#define METHOD(name, signature, function) { (char *)name, (char *)signature, (void *)function }

static const JNINativeMethod methods[] = {
    METHOD("address", "(Ljava/nio/ByteBuffer;)J", address),
    METHOD("text", "(J)Ljava/lang/String;", text),
    METHOD("versionNumber", "()I", c_versionNumber),
    METHOD("features", "()J", c_features),
    METHOD("versionString", "()Ljava/lang/String;", c_versionString),
    METHOD("statusName", "(I)Ljava/lang/String;", c_statusName),
    METHOD("kafkaErrorName", "(I)Ljava/lang/String;", c_kafkaErrorName),
    METHOD("abiCheck", "(IJJ)I", c_abiCheck),
    METHOD("configCreate", "(IJJ)I", c_configCreate),
    METHOD("configSet", "(JJJJJJ)I", c_configSet),
    METHOD("configSetTopic", "(JJJJJJJJ)I", c_configSetTopic),
    METHOD("configLoad", "(JJJJ)I", c_configLoad),
    METHOD("configGet", "(JJJJJJJ)I", c_configGet),
    METHOD("configDescribe", "(IJJJJ)I", c_configDescribe),
    METHOD("configClose", "(J)I", c_configClose),
    METHOD("managerOpen", "(JJJ)I", c_managerOpen),
    METHOD("managerRefresh", "(JJJ)I", c_managerRefresh),
    METHOD("managerInfo", "(JJJ)I", c_managerInfo),
    METHOD("managerReport", "(JJJJJ)I", c_managerReport),
    METHOD("managerList", "(JJJJJ)I", c_managerList),
    METHOD("managerDirInfo", "(JIJJJJJ)I", c_managerDirInfo),
    METHOD("managerSetConfig", "(JJJ)I", c_managerSetConfig),
    METHOD("managerOpenProgress", "(JJJJJJJ)I", c_managerOpenProgress),
    METHOD("managerResolve", "(JJJIIJ)I", c_managerResolve),
    METHOD("managerClose", "(JIJJ)I", c_managerClose),
    METHOD("metaCreate", "(JIJJIJJ)I", c_metaCreate),
    METHOD("flushAll", "(JIJ)I", c_flushAll),
    METHOD("checkpoint", "(JIJ)I", c_checkpoint),
    METHOD("tick", "(JJJJJ)I", c_tick),
    METHOD("retain", "(JJIJJ)I", c_retain),
    METHOD("clean", "(JJJJJ)I", c_clean),
    METHOD("metricDescribe", "(IJJ)I", c_metricDescribe),
    METHOD("metricsRead", "(JJJJJJ)I", c_metricsRead),
    METHOD("metricsText", "(JIJJJJ)I", c_metricsText),
    METHOD("logOpen", "(JJJIJJJ)I", c_logOpen),
    METHOD("logRetry", "(JJJIJ)I", c_logRetry),
    METHOD("logPromote", "(JJJIJ)I", c_logPromote),
    METHOD("logSetConfig", "(JJJ)I", c_logSetConfig),
    METHOD("logEndOffset", "(JJ)I", c_logEndOffset),
    METHOD("logInfo", "(JJJ)I", c_logInfo),
    METHOD("logMove", "(JIJJJ)I", c_logMove),
    METHOD("logDelete", "(JIJ)I", c_logDelete),
    METHOD("logClose", "(J)I", c_logClose),
    METHOD("appendPacked", "(JJJJJJ)I", c_appendPacked),
    METHOD("appendBatches", "(JJJJJJ)I", c_appendBatches),
    METHOD("appendOne", "(JJJJJJJJ)I", c_appendOne),
    METHOD("appendMarker", "(JJIIIJJ)I", c_appendMarker),
    METHOD("read", "(JJJJJJJ)I", c_read),
    METHOD("offsetForTimestamp", "(JJJJ)I", c_offsetForTimestamp),
    METHOD("offsetForEpoch", "(JIJJ)I", c_offsetForEpoch),
    METHOD("epochAssign", "(JIJJ)I", c_epochAssign),
    METHOD("highWatermarkSet", "(JJJJ)I", c_highWatermarkSet),
    METHOD("producers", "(JJJJJ)I", c_producers),
    METHOD("abortedTxns", "(JJJJJJJ)I", c_abortedTxns),
    METHOD("flush", "(JJIJ)I", c_flush),
    METHOD("roll", "(JJJ)I", c_roll),
    METHOD("truncateTo", "(JJJJ)I", c_truncateTo),
    METHOD("truncateFully", "(JJJJ)I", c_truncateFully),
    METHOD("deleteRecords", "(JJJJ)I", c_deleteRecords),
    METHOD("cleanProgress", "(JJJ)I", c_cleanProgress),
    METHOD("cleanPause", "(JJ)I", c_cleanPause),
    METHOD("cleanResume", "(JJ)I", c_cleanResume),
    METHOD("cleanAwait", "(JJJJJ)I", c_cleanAwait),
    METHOD("cursorOpen", "(JJJJJ)I", c_cursorOpen),
    METHOD("cursorNextPacked", "(JJJJJ)I", c_cursorNextPacked),
    METHOD("cursorSeek", "(JJJ)I", c_cursorSeek),
    METHOD("cursorClose", "(J)I", c_cursorClose),
    METHOD("cancelCreate", "(JJ)I", c_cancelCreate),
    METHOD("cancelFire", "(J)I", c_cancelFire),
    METHOD("cancelClose", "(J)I", c_cancelClose),
    METHOD("eventsOpen", "(JJJJJJ)I", c_eventsOpen),
    METHOD("eventsPoll", "(JJJJJJJ)I", c_eventsPoll),
    METHOD("eventsClose", "(J)I", c_eventsClose),
};

/* Binds here, not by the names of functions: the class is that of the loader that loads this file, whatever thread asks. */
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved) {
    JNIEnv *env;
    jclass backend;
    klog_error err = KLOG_INIT(klog_error);
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK) {
        return JNI_ERR;
    }
    if (klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, &err) != KLOG_OK) {
        jclass link_error = (*env)->FindClass(env, "java/lang/UnsatisfiedLinkError");
        if (link_error != NULL) {
            (*env)->ThrowNew(env, link_error, err.message);
        }
        return JNI_ERR;
    }
    backend = (*env)->FindClass(env, "io/klog/JniBackend");
    if (backend == NULL
        || (*env)->RegisterNatives(env, backend, methods, (jint)(sizeof methods / sizeof methods[0])) != JNI_OK) {
        return JNI_ERR;
    }
    return JNI_VERSION_1_8;
}
