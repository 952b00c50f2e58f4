/*
 * The work of io.klog.bench.KlogBenchmark in C: prints what a record or a call costs, the best of some rounds, a line each.
 * Usage: beside DIR ROUNDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "klog.h"

enum { BATCH = 1000, SCANNED = 100000, APPENDED = 300000, CALLS = 1000000, ONES = 30000 };

static klog_error err = KLOG_INIT(klog_error);
static klog_manager manager;
static klog_log appended;
static klog_log scanned;
static klog_record records[BATCH];
static char key[12];
static char value[100];
static int64_t sum;

static void must(klog_status status) {
    if (status != KLOG_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
}

static void fill(void) {
    memset(records, 0, sizeof records);
    for (int n = 0; n < BATCH; n++) {
        records[n].key = key;
        records[n].key_len = sizeof key;
        records[n].value = value;
        records[n].value_len = sizeof value;
        records[n].timestamp_ms = 1700000000000;
        records[n].flags = KLOG_RECORD_HAS_TIMESTAMP;
    }
}

static int append(void) {
    for (int n = 0; n < APPENDED; n += BATCH) {
        fill();
        must(klog_append(appended, records, BATCH, NULL, NULL, &err));
    }
    return APPENDED;
}

static int scan(void) {
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_cursor cursor;
    klog_status status;
    must(klog_cursor_open(scanned, 0, NULL, &cursor, &err));
    while ((status = klog_cursor_next(cursor, records, BATCH, &result, &err)) == KLOG_OK) {
        for (uint32_t n = 0; n < result.records; n++) {
            sum += records[n].offset + (int64_t)records[n].key_len + ((const char *)records[n].value)[0];
        }
    }
    klog_cursor_close(cursor);
    return SCANNED;
}

static int end_offset(void) {
    for (int n = 0; n < CALLS; n++) {
        int64_t end;
        must(klog_log_end_offset(scanned, &end));
        sum += end;
    }
    return CALLS;
}

static int append_one(void) {
    for (int n = 0; n < ONES; n++) {
        must(klog_append_one(appended, key, sizeof key, value, sizeof value, 1700000000000, NULL, &err));
    }
    return ONES;
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void measure(const char *what, int (*work)(void), int rounds) {
    double best = 1e18;
    for (int round = 0; round < rounds; round++) {
        must(klog_truncate_fully(appended, 0, -1, &err));
        double begun = now_ns();
        int units = work();
        double each = (now_ns() - begun) / units;
        best = each < best ? each : best;
    }
    printf("%s %.3f\n", what, best);
}

int main(int argc, char **argv) {
    klog_manager_options open = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    if (argc < 3) {
        return 2;
    }
    open.dirs = (const char *const *)&argv[1];
    open.dir_count = 1;
    open.flags = KLOG_OPEN_CREATE_DIRS;
    create.flags = KLOG_LOG_CREATE;
    must(klog_manager_open(&open, &manager, &err));
    must(klog_log_open(manager, "appended", KLOG_NTS, 0, &create, &appended, &err));
    must(klog_log_open(manager, "scanned", KLOG_NTS, 0, &create, &scanned, &err));
    for (int n = 0; n < SCANNED; n += BATCH) {
        fill();
        must(klog_append(scanned, records, BATCH, NULL, NULL, &err));
    }
    measure("append", append, atoi(argv[2]));
    measure("scan", scan, atoi(argv[2]));
    measure("endOffset", end_offset, atoi(argv[2]));
    measure("appendOne", append_one, atoi(argv[2]));
    must(klog_manager_close(manager, 0, -1, &err));
    return sum == 0;
}
