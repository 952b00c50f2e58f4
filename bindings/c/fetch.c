/*
 * Fetches whole batches, as a broker sends them, then tails the log while somebody else appends to it: the directory is opened
 * for reading only, so its owner may be a live broker. Usage: fetch DIR COUNT    (ends after COUNT records)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "klog.h"

static klog_error err = KLOG_INIT(klog_error);

static void must(klog_status status, const char *what) {
    if (status != KLOG_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, klog_status_name(status), err.message);
        exit(1);
    }
}

/* Reads from an offset to the end, in batches: what a fetch answers. Where the log goes on. */
static int64_t fetch(klog_log log, int64_t from) {
    static unsigned char buffer[64 * 1024];
    klog_read_result result = KLOG_INIT(klog_read_result);
    uint64_t bytes = 0;
    uint32_t batches = 0;
    do {
        must(klog_read(log, from, NULL, buffer, sizeof buffer, &result, &err), "read");
        bytes += result.bytes;
        batches += result.batches;
        from = result.next_offset;
    } while (result.bytes > 0);
    printf("fetched %" PRIu32 " batches, %s bytes, up to %" PRId64 "\n", batches, bytes > 0 ? "some" : "no", from);
    return from;
}

int main(int argc, char **argv) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_read_options tailing = KLOG_INIT(klog_read_options);
    klog_manager manager;
    klog_log log;
    klog_cursor cursor;
    klog_record records[100];

    if (argc != 3) {
        return 2;
    }
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.flags = KLOG_OPEN_READ_ONLY;
    must(klog_manager_open(&options, &manager, &err), "open");
    must(klog_log_open(manager, "orders", KLOG_NTS, 0, NULL, &log, &err), "orders-0");
    fetch(log, 0);
    fflush(stdout);

    /* A cursor gives records, many a call; they are lent until the next one. At the end it waits where it is, as long as asked. */
    tailing.timeout_ms = 10;
    must(klog_cursor_open(log, 0, &tailing, &cursor, &err), "cursor");
    for (int left = atoi(argv[2]); left > 0;) {
        klog_status status = klog_cursor_next(cursor, records, left < 100 ? (size_t)left : 100, &result, &err);
        if (status == KLOG_ERR_TIMED_OUT) {
            must(klog_manager_refresh(manager, log, &err), "refresh"); /* takes in what another process did; its own needs none */
            continue;
        }
        must(status, "next");
        for (uint32_t i = 0; i < result.records; i++, left--) {
            printf("%" PRId64 " %.*s=%.*s\n", records[i].offset, (int)records[i].key_len, (const char *)records[i].key,
                   (int)records[i].value_len, (const char *)records[i].value);
        }
    }
    klog_cursor_close(cursor);
    klog_log_close(log);
    must(klog_manager_close(manager, 0, -1, &err), "close");
    return 0;
}
