/*
 * What cgo cannot say: options that hold a pointer to Go memory are put together here, on the C stack, so that nothing must
 * be pinned; and what benchmarks compare with.
 */
#ifndef KLOG_GO_SHIM_H
#define KLOG_GO_SHIM_H

#include <fcntl.h>

#include "klog.h"

/* A descriptor of the library's for Go's runtime to wait on: not to block in a read that nobody does. */
static inline int klog_go_dup(int fd) {
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own >= 0) {
        fcntl(own, F_SETFL, fcntl(own, F_GETFL) | O_NONBLOCK);
    }
    return own;
}

static inline klog_status klog_go_append_packed(klog_log log, const void *packed, size_t len,
                                                const klog_append_options *opts, klog_record_error *refused,
                                                uint64_t refused_cap, klog_append_result *out, klog_error *err) {
    klog_append_options with = *opts;
    with.record_errors = refused;
    with.record_errors_cap = refused_cap;
    return klog_append_packed(log, packed, len, &with, out, err);
}

static inline klog_status klog_go_append_batches(klog_log log, const void *batches, size_t len,
                                                 const klog_append_options *opts, klog_record_error *refused,
                                                 uint64_t refused_cap, klog_append_result *out, klog_error *err) {
    klog_append_options with = *opts;
    with.record_errors = refused;
    with.record_errors_cap = refused_cap;
    return klog_append_batches(log, batches, len, &with, out, err);
}

static inline klog_status klog_go_appender_open(klog_log log, const klog_appender_options *opts,
                                                const klog_append_options *append, klog_appender *out, klog_error *err) {
    klog_appender_options with = *opts;
    with.append = append;
    return klog_appender_open(log, &with, out, err);
}

static inline void klog_go_nothing(void) {}

/* How many records a log has, counted from C: what a scan costs without Go. */
static inline uint64_t klog_go_scan(klog_log log) {
    static const size_t at_once = 1000;
    klog_record records[1000];
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_cursor cursor;
    uint64_t count = 0;
    if (klog_cursor_open(log, 0, NULL, &cursor, NULL) != KLOG_OK) {
        return 0;
    }
    while (klog_cursor_next(cursor, records, at_once, &result, NULL) == KLOG_OK) {
        count += result.records;
    }
    klog_cursor_close(cursor);
    return count;
}

/* Appends the same record count times, packed by nobody: what an append costs from C. */
static inline klog_status klog_go_append(klog_log log, const void *key, size_t key_len, const void *value, size_t value_len,
                                         int64_t timestamp_ms, size_t count) {
    klog_record records[1000];
    if (count > 1000) {
        return KLOG_ERR_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < count; i++) {
        klog_record record = {key, key_len, value, value_len, NULL, 0, 0, timestamp_ms, 0, 0, KLOG_RECORD_HAS_TIMESTAMP, 0};
        records[i] = record;
    }
    return klog_append(log, records, count, NULL, NULL, NULL);
}

#endif
