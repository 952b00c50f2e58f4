/*
 * Writers, followers and the cleaner on one log: `together` of tests/scenarios/README.md.
 */
#ifndef KLOG_TESTS_TOGETHER_H
#define KLOG_TESTS_TOGETHER_H

#include "concurrent.h"

typedef struct {
    int writers, appends, followers, roll, keys, cleans;
} together_options;

/* What all of them know. */
typedef struct {
    together_options options;
    klog_manager manager;
    klog_log log;
    /* For each offset who was told of it: writer * appends + number, and 1; 0 for nobody yet. */
    int64_t *told;
    int64_t total;
    int is_done;
} shared;

typedef struct {
    shared *all;
    int number;
} one;

static size_t key_of(const together_options *options, int64_t record, char *key, size_t size) {
    int64_t writer = record / options->appends, number = record % options->appends;
    return (size_t)(options->keys > 0 ? snprintf(key, size, "k%" PRId64, number % options->keys)
                                      : snprintf(key, size, "%" PRId64 ".%" PRId64, writer, number));
}

static void *write_records(void *of) {
    shared *all = ((one *)of)->all;
    int64_t before = -1;
    for (int n = 0; n < all->options.appends; n++) {
        char key[32], value[32];
        int64_t record = (int64_t)((one *)of)->number * all->options.appends + n, offset, nobody = 0;
        size_t key_len = key_of(&all->options, record, key, sizeof key);
        int value_len = snprintf(value, sizeof value, "%d.%d", ((one *)of)->number, n);
        MUST(klog_append_one(all->log, key, key_len, value, (size_t)value_len, T0, &offset, &err));
        if (offset <= before || offset >= all->total) FAIL("offset %" PRId64 " after %" PRId64, offset, before);
        if (!__atomic_compare_exchange_n(&all->told[offset], &nobody, record + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            FAIL("offset %" PRId64 " was given out twice", offset);
        }
        before = offset;
        if (offset % all->options.roll == all->options.roll - 1) {
            MUST(klog_roll(all->log, NULL, &err));
        }
    }
    return NULL;
}

/* A reader may see a record before its writer is told of it. */
static int64_t writer_of(shared *all, int64_t offset) {
    int64_t told;
    while ((told = __atomic_load_n(&all->told[offset], __ATOMIC_SEQ_CST)) == 0) {
        sched_yield();
    }
    return told - 1;
}

/* Reads from the front to the last offset, waiting if need be. How many records there were. */
static int64_t follow(shared *all, int may_miss) {
    klog_read_options options = KLOG_INIT(klog_read_options);
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_record records[100];
    klog_cursor cursor;
    int64_t before = -1, seen = 0;
    options.timeout_ms = -1;
    MUST(klog_cursor_open(all->log, 0, &options, &cursor, &err));
    while (before < all->total - 1) {
        MUST(klog_cursor_next(cursor, records, 100, &result, &err));
        for (uint32_t i = 0; i < result.records; i++, seen++) {
            char key[32], value[32];
            int64_t offset = records[i].offset, record = writer_of(all, offset);
            size_t key_len = key_of(&all->options, record, key, sizeof key);
            int value_len = snprintf(value, sizeof value, "%" PRId64 ".%" PRId64, record / all->options.appends,
                                     record % all->options.appends);
            if (may_miss ? offset <= before : offset != before + 1) FAIL("%" PRId64 " after %" PRId64, offset, before);
            if (records[i].key_len != key_len || memcmp(records[i].key, key, key_len) != 0
                || records[i].value_len != (uint64_t)value_len || memcmp(records[i].value, value, (size_t)value_len) != 0) {
                FAIL("offset %" PRId64 " is not the record that was appended", offset);
            }
            before = offset;
        }
    }
    MUST(klog_cursor_close(cursor));
    return seen;
}

static void *follow_records(void *of) {
    shared *all = ((one *)of)->all;
    follow(all, all->options.cleans);
    return NULL;
}

static void clean_once(shared *all) {
    klog_clean_options options = KLOG_INIT(klog_clean_options);
    options.flags = KLOG_CLEAN_ROLL | KLOG_DRY_RUN;
    MUST(klog_clean(all->manager, all->log, &options, NULL, &err));
    options.flags = KLOG_CLEAN_ROLL;
    MUST(klog_clean(all->manager, all->log, &options, NULL, &err));
}

static void *clean_records(void *of) {
    shared *all = ((one *)of)->all;
    while (!__atomic_load_n(&all->is_done, __ATOMIC_SEQ_CST)) {
        clean_once(all);
    }
    return NULL;
}

/* What is left of a compacted log: for each key the record with the highest offset. */
static void check_last_of_keys(shared *all) {
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_record record;
    klog_cursor cursor;
    int64_t *last = malloc(sizeof *last * (size_t)all->options.keys);
    int keys = all->options.keys < all->options.appends ? all->options.keys : all->options.appends, found = 0;
    klog_status status;
    for (int64_t offset = 0; offset < all->total; offset++) {
        last[(all->told[offset] - 1) % all->options.appends % all->options.keys] = offset;
    }
    MUST(klog_cursor_open(all->log, 0, NULL, &cursor, &err));
    while ((status = klog_cursor_next(cursor, &record, 1, &result, NULL)) == KLOG_OK) {
        int64_t key = (all->told[record.offset] - 1) % all->options.appends % all->options.keys;
        if (last[key] != record.offset) FAIL("k%" PRId64 " is at %" PRId64 ", not at %" PRId64, key, record.offset, last[key]);
        found++;
    }
    if (status != KLOG_ERR_END || found != keys) FAIL("%d records: %s", found, klog_status_name(status));
    MUST(klog_cursor_close(cursor));
    free(last);
}

static void together(klog_manager manager, klog_log log, together_options options) {
    enum { MOST = 64 };
    shared all = {options, manager, log, NULL, 0, 0};
    pthread_t threads[MOST], cleaner;
    one ones[MOST];
    int count = options.writers + options.followers;
    if (count > MOST) FAIL("%d threads are too many", count);
    all.total = (int64_t)options.writers * options.appends;
    all.told = calloc((size_t)all.total, sizeof *all.told);
    for (int i = 0; i < count; i++) {
        ones[i].all = &all;
        ones[i].number = i;
        start(&threads[i], i < options.writers ? write_records : follow_records, &ones[i]);
    }
    if (options.cleans) {
        start(&cleaner, clean_records, &ones[0]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    __atomic_store_n(&all.is_done, 1, __ATOMIC_SEQ_CST);
    if (options.cleans) {
        pthread_join(cleaner, NULL);
        clean_once(&all);
        follow(&all, 1);
        check_last_of_keys(&all);
    } else if (follow(&all, 0) != all.total) {
        FAIL("records are missing");
    }
    free(all.told);
}

#endif
