/*
 * One hot path, so many times: for a count of its instructions (tests/run/counted). The work is the same in every run.
 *
 * Usage: counted DIR append|append_one|encode|scan|read TIMES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog.h"

#define LOT 100
#define LOTS 40
#define TIME 1700000000000LL

static klog_error err = KLOG_INIT(klog_error);
static char keys[LOT][16];
static char value[100];
static klog_record records[LOT];
static char buffer[1 << 16];
static klog_record places[LOT];

static void must(klog_status status) {
    if (status != KLOG_OK) {
        fprintf(stderr, "%s: %s\n", klog_status_name(status), err.message);
        exit(1);
    }
}

static void make_records(void) {
    memset(value, 'v', sizeof value);
    for (int i = 0; i < LOT; i++) {
        records[i].key = keys[i];
        records[i].key_len = (uint64_t)snprintf(keys[i], sizeof keys[i], "key-%010d", i);
        records[i].value = value;
        records[i].value_len = sizeof value;
        records[i].flags = KLOG_RECORD_HAS_TIMESTAMP;
        records[i].timestamp_ms = TIME + i;
    }
}

static void append(klog_log log) {
    must(klog_append(log, records, LOT, NULL, NULL, &err));
}

static void scan(klog_log log, int lots) {
    klog_cursor cursor;
    klog_read_result result = KLOG_INIT(klog_read_result);

    must(klog_cursor_open(log, 0, NULL, &cursor, &err));
    for (int i = 0; i < lots; i++) {
        must(klog_cursor_next(cursor, places, LOT, &result, &err));
        if (result.records != LOT) {
            exit(1);
        }
    }
    must(klog_cursor_close(cursor));
}

static void work(const char *what, klog_log log) {
    klog_read_result read = KLOG_INIT(klog_read_result);
    size_t needed;

    if (strcmp(what, "append") == 0) {
        append(log);
    } else if (strcmp(what, "append_one") == 0) {
        must(klog_append_one(log, keys[0], 14, value, sizeof value, TIME, NULL, &err));
    } else if (strcmp(what, "encode") == 0) {
        must(klog_encode(records, LOT, NULL, 0, buffer, sizeof buffer, &needed, &err));
    } else if (strcmp(what, "scan") == 0) {
        scan(log, LOTS);
    } else if (strcmp(what, "read") == 0) {
        must(klog_read(log, LOT * LOTS / 2 + LOT / 2, NULL, buffer, sizeof buffer / 4, &read, &err));
    } else {
        exit(2);
    }
}

int main(int argc, char **argv) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_manager manager;
    klog_log log;

    if (argc != 4) {
        return 2;
    }
    make_records();
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS;
    must(klog_manager_open(&options, &manager, &err));
    create.flags = KLOG_LOG_CREATE;
    must(klog_log_open(manager, "counted", KLOG_NTS, 0, &create, &log, &err));
    for (int i = 0; i < LOTS; i++) {
        append(log);
    }
    for (int i = atoi(argv[3]); i > 0; i--) {
        work(argv[2], log);
    }
    must(klog_manager_close(manager, KLOG_CLOSE_ABANDON, -1, &err));
    return 0;
}
