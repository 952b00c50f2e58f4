/*
 * What the generated program of tests/c_matrix.rs stands on: for each call a directory, a manager, and one handle of each kind,
 * all of them open. The names of the fields are the parameters' or those of the types.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "klog.h"

/* A struct of a caller whose header is newer: bytes behind the end that the library knows. */
#define NEWER(type) struct { type known; uint64_t more; }

static klog_error err = KLOG_INIT(klog_error);
static const char *root;
static int directories = 0;
static int checks = 0;
static int wrong = 0;

static klog_config config;
static klog_config broker_changes;
static klog_config topic_overrides;
static klog_manager manager;
static klog_log opened_log;
static klog_appender appender;
static klog_cursor cursor;
static klog_view view;
static klog_cancel cancel;
static klog_waiter waiter;
static klog_events events;

static char path[512], second_path[512];
static const char *dirs[1], *second_dirs[1];
static klog_record records[4];
static unsigned char packed[512], batches[512], buf[8192], scratch[8192];
static size_t packed_len, batches_len;
static klog_append_item item;
static klog_packed_item packed_item;
static uint64_t ticket;

static void must(klog_status status, int line) {
    if (status != KLOG_OK) {
        fprintf(stderr, "matrix.h %d: %s: %s\n", line, klog_status_name(status), err.message);
        exit(2);
    }
}

#define MUST(call) must((call), __LINE__)

static void expect(klog_status status, klog_status wanted, const char *what) {
    checks++;
    if (status != wanted) {
        fprintf(stderr, "%s: %s, wanted %s\n", what, klog_status_name(status), klog_status_name(wanted));
        wrong++;
    }
}

static void expect_not(klog_status status, klog_status unwanted, const char *what) {
    checks++;
    if (status == unwanted) {
        fprintf(stderr, "%s: %s\n", what, klog_status_name(status));
        wrong++;
    }
}

static klog_record one_record(void) {
    klog_record record;
    memset(&record, 0, sizeof record);
    record.key = "key";
    record.key_len = 3;
    record.value = "value";
    record.value_len = 5;
    return record;
}

/* Opens one of everything. */
static void begin(void) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_view_info info = KLOG_INIT(klog_view_info);
    klog_read_result result = KLOG_INIT(klog_read_result);
    snprintf(path, sizeof path, "%s/%d", root, directories);
    snprintf(second_path, sizeof second_path, "%s/%d-second", root, directories++);
    dirs[0] = path;
    second_dirs[0] = second_path;
    options.dirs = dirs;
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS;
    create.flags = KLOG_LOG_CREATE | KLOG_LOG_MANUAL_HW;
    for (int i = 0; i < 4; i++) {
        records[i] = one_record();
    }
    MUST(klog_config_create(KLOG_CONFIG_BROKER, &config, &err));
    MUST(klog_config_create(KLOG_CONFIG_BROKER, &broker_changes, &err));
    MUST(klog_config_set(broker_changes, "log.retention.ms", KLOG_NTS, "70000", KLOG_NTS, &err));
    MUST(klog_config_create(KLOG_CONFIG_TOPIC, &topic_overrides, &err));
    MUST(klog_config_set(topic_overrides, "cleanup.policy", KLOG_NTS, "compact,delete", KLOG_NTS, &err));
    create.config = topic_overrides;
    MUST(klog_manager_open(&options, &manager, &err));
    MUST(klog_log_open(manager, "t", 1, 0, &create, &opened_log, &err));
    MUST(klog_append(opened_log, records, 2, NULL, NULL, &err));
    MUST(klog_appender_open(opened_log, NULL, &appender, &err));
    MUST(klog_appender_add(appender, records, 1, 0, &ticket, &err));
    MUST(klog_appender_flush(appender, -1, &err));
    MUST(klog_waiter_open(manager, &waiter, NULL, &err));
    MUST(klog_cursor_open(opened_log, 0, NULL, &cursor, &err));
    MUST(klog_view_open(opened_log, 0, NULL, &view, &info, &err));
    MUST(klog_cancel_create(&cancel, &err));
    MUST(klog_events_open(manager, 0, 0, &events, NULL, &err));
    MUST(klog_encode(records, 2, NULL, 0, batches, sizeof batches, &batches_len, &err));
    MUST(klog_decode_packed(batches, batches_len, 0, packed, sizeof packed, &result, &err));
    memcpy(&packed_len, packed + 24, sizeof packed_len);
    memset(packed + 16, 0xff, 8);
    for (size_t at = 32; at < packed_len;) {
        uint32_t len;
        memcpy(&len, packed + at, sizeof len);
        memset(packed + at + 8, 0xff, 8);
        at += len;
    }
    memset(&item, 0, sizeof item);
    item.log = opened_log;
    item.records = records;
    item.count = 2;
    memset(&packed_item, 0, sizeof packed_item);
    packed_item.log = opened_log;
    packed_item.packed = packed;
    packed_item.len = packed_len;
}

/* Closes what is left of it, the manager last. */
static void end(void) {
    klog_config_close(config);
    klog_config_close(broker_changes);
    klog_config_close(topic_overrides);
    klog_appender_close(appender, KLOG_CLOSE_DISCARD, NULL);
    klog_waiter_close(waiter);
    klog_cursor_close(cursor);
    klog_view_close(view);
    klog_cancel_close(cancel);
    klog_events_close(events);
    klog_log_close(opened_log);
    klog_manager_close(manager, KLOG_CLOSE_ABANDON, -1, NULL);
}

/* Waits for a child, whose number of wrong answers is added. */
static void reap(pid_t child) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "a forked child ended with %#x\n", (unsigned)status);
        wrong++;
    }
}
