/* The same work done from C, for benchmarks and tests to compare with. */
#ifndef KLOG_GO_COMPARE_H
#define KLOG_GO_COMPARE_H

#include "klog.h"

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
