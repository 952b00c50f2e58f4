/*
 * Appends: one record, a batch of records with headers, and a batch that is only appended if nobody else appended meanwhile.
 * Prints where they went. Usage: append DIR
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog.h"

static klog_error err = KLOG_INIT(klog_error);

static void must(klog_status status, const char *what) {
    if (status != KLOG_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, klog_status_name(status), err.message);
        exit(1);
    }
}

int main(int argc, char **argv) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_append_options zstd = KLOG_INIT(klog_append_options);
    klog_append_result result = KLOG_INIT(klog_append_result);
    klog_manager manager;
    klog_log log;
    klog_record records[3];
    klog_header header = {"source", 6, "sample", 6};
    int64_t offset;

    if (argc != 2) {
        return 2;
    }
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS;
    must(klog_manager_open(&options, &manager, &err), "open");
    create.flags = KLOG_LOG_CREATE;
    must(klog_log_open(manager, "orders", KLOG_NTS, 0, &create, &log, &err), "orders-0");

    /* The shortest way: key and value, the time is now. A null key is no key, a null value a tombstone. */
    must(klog_append_one(log, "order-1", 7, "paid", 4, KLOG_TIMESTAMP_NOW, &offset, &err), "append one");
    printf("one record at %" PRId64 "\n", offset);

    /* Many records become one batch: all of them are appended, or none. */
    memset(records, 0, sizeof records);
    for (int i = 0; i < 3; i++) {
        static char keys[3][16];
        records[i].key = keys[i];
        records[i].key_len = (uint64_t)snprintf(keys[i], sizeof keys[i], "order-%d", 2 + i);
        records[i].value = "new";
        records[i].value_len = 3;
        records[i].headers = &header;
        records[i].header_count = 1;
    }
    zstd.compression = KLOG_COMPRESSION_ZSTD;
    must(klog_append(log, records, 3, &zstd, &result, &err), "append");
    printf("%" PRIu32 " records at %" PRId64 "..%" PRId64 "\n", result.records, result.first_offset, result.last_offset);

    /* Compare and append: refused if the log does not end where we think it does, and nothing changes. */
    zstd.flags = KLOG_APPEND_IF_LOG_END;
    zstd.expected_log_end = result.last_offset;
    if (klog_append(log, records, 1, &zstd, NULL, &err) == KLOG_ERR_LOG_END_MISMATCH) {
        printf("not appended: the log ends at %" PRId64 "\n", err.offset);
        zstd.expected_log_end = err.offset;
    }
    must(klog_append(log, records, 1, &zstd, &result, &err), "append at the end");
    printf("appended at %" PRId64 "\n", result.first_offset);

    must(klog_flush(log, -1, 0, &err), "flush"); /* from here on a power cut takes none of them */
    must(klog_manager_close(manager, 0, -1, &err), "close");
    klog_log_close(log); /* handles may end in any order */
    return 0;
}
