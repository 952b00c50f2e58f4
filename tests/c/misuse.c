/*
 * A program that does everything wrong: null pointers, wrong sizes, garbage handles, closed handles, children of a closed
 * manager, waits that are cancelled or closed under those who wait, handles in a forked child. It must end with statuses only;
 * valgrind and the sanitizers watch.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "klog.h"

static klog_error err = KLOG_INIT(klog_error);
static int wrong = 0;

static void expect(klog_status status, klog_status wanted, int line) {
    if (status != wanted) {
        fprintf(stderr, "line %d: %s, wanted %s: %s\n", line, klog_status_name(status), klog_status_name(wanted),
                err.message);
        wrong++;
    }
}

#define EXPECT(wanted, call) expect((call), (wanted), __LINE__)

static const klog_cancel never = {0};

/* What another thread waits for, and how that ends. */
typedef struct {
    klog_log log;
    klog_cursor cursor;
    klog_waiter waiter;
    klog_wait_options options;
    klog_status wait, next, poll;
} waits;

/* Three calls that wait for what never comes, one after the other: none may outlast what it waits on. */
static void *wait_for_nothing(void *of) {
    waits *w = of;
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_record record;
    klog_ready ready;
    w->wait = klog_wait(w->log, &w->options, NULL, NULL);
    w->next = klog_cursor_next(w->cursor, &record, 1, &result, NULL);
    w->poll = klog_waiter_poll(w->waiter, &ready, 1, NULL, -1, NULL);
    return NULL;
}

static waits waits_of(klog_manager manager, klog_log log) {
    waits w;
    klog_read_options reading = KLOG_INIT(klog_read_options);
    const klog_wait_options waiting = KLOG_INIT(klog_wait_options);
    memset(&w, 0, sizeof w);
    w.log = log;
    w.options = waiting;
    w.options.offset = 1000000;
    w.options.timeout_ms = -1;
    EXPECT(KLOG_OK, klog_cancel_create(&w.options.cancel, &err));
    reading.timeout_ms = -1;
    reading.cancel = w.options.cancel;
    EXPECT(KLOG_OK, klog_waiter_open(manager, &w.waiter, NULL, &err));
    EXPECT(KLOG_OK, klog_cursor_open(log, 0, &reading, &w.cursor, &err));
    return w;
}

/* A token ends what carries it; the waiter, which carries none, ends with its close. */
static void cancel_waits(klog_manager manager, klog_log log) {
    waits w = waits_of(manager, log);
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_nothing, &w);
    EXPECT(KLOG_OK, klog_cancel_fire(w.options.cancel));
    EXPECT(KLOG_OK, klog_waiter_close(w.waiter));
    pthread_join(thread, NULL);
    EXPECT(KLOG_ERR_CANCELLED, w.wait);
    EXPECT(KLOG_ERR_CANCELLED, w.next);
    /* Closed under it, or before it came there. */
    EXPECT(w.poll == KLOG_ERR_STALE_HANDLE ? KLOG_ERR_STALE_HANDLE : KLOG_ERR_CLOSED, w.poll);
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_waiter_close(w.waiter));
    EXPECT(KLOG_OK, klog_cursor_close(w.cursor));
    EXPECT(KLOG_OK, klog_cancel_fire(w.options.cancel));
    EXPECT(KLOG_OK, klog_cancel_close(w.options.cancel));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_cancel_fire(w.options.cancel));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_wait(log, &w.options, NULL, &err));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_cancel_close(w.options.cancel));
}

static void misuse_waits(klog_manager manager, klog_log log) {
    klog_wait_options options = KLOG_INIT(klog_wait_options);
    klog_waiter waiter = {0}, garbage = {manager.id};
    klog_ready ready;
    EXPECT(KLOG_ERR_NULL_ARGUMENT, klog_wait(log, NULL, NULL, &err));
    options.offset = 1000000;
    EXPECT(KLOG_ERR_TIMED_OUT, klog_wait(log, &options, NULL, &err));
    options.timeout_ms = -2;
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_wait(log, &options, NULL, &err));
    options.timeout_ms = 0;
    options.kind = 77;
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_wait(log, &options, NULL, &err));
    options.kind = KLOG_WAIT_LOG_END;
    options.cancel.id = log.id;
    EXPECT(KLOG_ERR_WRONG_KIND, klog_wait(log, &options, NULL, &err));
    options.cancel.id = 0;
    EXPECT(KLOG_ERR_NULL_HANDLE, klog_waiter_arm(waiter, log, &options, 0, &err));
    EXPECT(KLOG_ERR_WRONG_KIND, klog_waiter_poll(garbage, &ready, 1, NULL, 0, &err));
    EXPECT(KLOG_OK, klog_waiter_open(manager, &waiter, NULL, &err));
    EXPECT(KLOG_ERR_TIMED_OUT, klog_waiter_poll(waiter, &ready, 1, NULL, 0, &err));
    EXPECT(KLOG_OK, klog_waiter_arm(waiter, log, &options, 7, &err));
    EXPECT(KLOG_OK, klog_waiter_poll(waiter, &ready, 1, NULL, 0, &err));
    EXPECT(KLOG_ERR_TIMED_OUT, ready.status);
    options.timeout_ms = -1;
    EXPECT(KLOG_OK, klog_waiter_arm(waiter, log, &options, 8, &err)); /* never comes: the close ends it */
    EXPECT(KLOG_OK, klog_waiter_close(waiter));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_waiter_close(waiter));
    EXPECT(KLOG_ERR_NULL_HANDLE, klog_cancel_fire(never));
}

static void misuse_appender(klog_log log) {
    klog_appender_options options = KLOG_INIT(klog_appender_options);
    klog_append_options conditional = KLOG_INIT(klog_append_options);
    klog_appender appender = {0};
    klog_append_item item;
    klog_record record;
    uint64_t ticket = 0;
    memset(&record, 0, sizeof record);
    memset(&item, 0, sizeof item);
    conditional.flags = KLOG_APPEND_IF_LOG_END;
    options.append = &conditional;
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_appender_open(log, &options, &appender, &err));
    options.append = NULL;
    options.linger_us = -1;
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_appender_open(log, &options, &appender, &err));
    EXPECT(KLOG_ERR_NULL_HANDLE, klog_appender_add(appender, &record, 1, 0, &ticket, &err));
    EXPECT(KLOG_OK, klog_appender_open(log, NULL, &appender, &err));
    EXPECT(KLOG_ERR_NULL_ARGUMENT, klog_appender_add(appender, NULL, 1, 0, &ticket, &err));
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_appender_add_packed(appender, &record, sizeof record, 0, &ticket, &err));
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_appender_wait(appender, 99, -1, never, NULL, &err));
    EXPECT(KLOG_OK, klog_appender_add(appender, &record, 1, 0, &ticket, &err));
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_appender_wait(appender, ticket, -2, never, NULL, &err));
    EXPECT(KLOG_OK, klog_appender_wait(appender, ticket, -1, never, NULL, &err));
    EXPECT(KLOG_OK, klog_appender_add(appender, &record, 1, 0, &ticket, &err));
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_appender_close(appender, 77, &err));
    EXPECT(KLOG_OK, klog_appender_close(appender, KLOG_CLOSE_DISCARD, &err));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_appender_wait(appender, ticket, -1, never, NULL, &err));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_appender_close(appender, 0, &err));
    item.count = 1;
    EXPECT(KLOG_ERR_NULL_ARGUMENT, klog_append_many((klog_manager){0}, NULL, 1, NULL, &err));
    EXPECT(KLOG_ERR_NULL_HANDLE, klog_append_many((klog_manager){0}, &item, 1, NULL, &err));
}

/* In a child inherited handles answer, may be closed, and change nothing for the parent. */
static void fork_with(klog_manager manager, klog_log log) {
    klog_record record;
    klog_appender appender = {0};
    klog_append_result result = KLOG_INIT(klog_append_result);
    waits w = waits_of(manager, log);
    uint64_t ticket = 0;
    int64_t before = -1, after = -1;
    int status = -1;
    pid_t child;
    memset(&record, 0, sizeof record);
    EXPECT(KLOG_OK, klog_appender_open(log, NULL, &appender, &err));
    EXPECT(KLOG_OK, klog_appender_add(appender, &record, 1, 0, &ticket, &err));
    EXPECT(KLOG_OK, klog_log_end_offset(log, &before));
    child = fork();
    if (child == 0) {
        wait_for_nothing(&w);
        EXPECT(KLOG_ERR_FORKED, w.wait);
        EXPECT(KLOG_ERR_FORKED, w.next);
        EXPECT(KLOG_ERR_FORKED, w.poll);
        EXPECT(KLOG_ERR_FORKED, klog_appender_add(appender, &record, 1, -1, NULL, &err));
        EXPECT(KLOG_ERR_FORKED, klog_appender_flush(appender, -1, &err));
        EXPECT(KLOG_ERR_FORKED, klog_append(log, &record, 1, NULL, NULL, &err));
        EXPECT(KLOG_OK, klog_appender_close(appender, 0, &err));
        EXPECT(KLOG_OK, klog_waiter_close(w.waiter));
        EXPECT(KLOG_OK, klog_cursor_close(w.cursor));
        EXPECT(KLOG_OK, klog_manager_close(manager, 0, -1, &err));
        EXPECT(KLOG_OK, klog_log_close(log));
        _exit(wrong);
    }
    if (waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "the child ended with %d\n", status);
        wrong++;
    }
    EXPECT(KLOG_OK, klog_log_end_offset(log, &after));
    EXPECT(KLOG_OK, klog_appender_wait(appender, ticket, -1, never, &result, &err));
    if (after != before || result.first_offset != before) {
        fprintf(stderr, "the child appended\n");
        wrong++;
    }
    EXPECT(KLOG_OK, klog_appender_close(appender, 0, &err));
    EXPECT(KLOG_OK, klog_waiter_close(w.waiter));
    EXPECT(KLOG_OK, klog_cursor_close(w.cursor));
    EXPECT(KLOG_OK, klog_cancel_close(w.options.cancel));
}

int main(int argc, char **argv) {
    klog_manager manager = {0}, second = {0};
    klog_log log = {0}, log_again = {0}, garbage_log = {UINT64_C(0x0300000100ffffff)};
    klog_cursor cursor = {0}, early = {0};
    klog_config config = {0};
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_append_options append_options = KLOG_INIT(klog_append_options);
    klog_append_result appended = KLOG_INIT(klog_append_result);
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_log_info info = KLOG_INIT(klog_log_info);
    klog_manager_info counts = KLOG_INIT(klog_manager_info);
    klog_record records[3];
    klog_view view = {0};
    klog_view_info lent = KLOG_INIT(klog_view_info);
    klog_appender appender = {0};
    waits left;
    klog_cancel token;
    pthread_t thread;
    uint64_t ticket = 0, sum = 0;
    char buffer[4096] = {0};
    size_t needed = 0;
    int64_t end = 0;

    if (argc != 2) {
        return 2;
    }
    memset(records, 0, sizeof records);
    EXPECT(KLOG_OK, klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, &err));
    EXPECT(KLOG_ERR_ABI, klog_abi_check(KLOG_ABI + 1, KLOG_LAYOUT_HASH, &err));

    EXPECT(KLOG_ERR_NULL_ARGUMENT, klog_manager_open(NULL, &manager, &err));
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_manager_open(&options, &manager, &err));
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.struct_size = 5;
    EXPECT(KLOG_ERR_STRUCT_SIZE, klog_manager_open(&options, &manager, &err));
    options.struct_size = sizeof options;
    options.config.id = UINT64_C(0x0100000200000003);
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_manager_open(&options, &manager, &err));
    options.config.id = 0;

    EXPECT(KLOG_OK, klog_config_create(KLOG_CONFIG_BROKER, &config, &err));
    EXPECT(KLOG_ERR_UNKNOWN_CONFIG, klog_config_set(config, "log.segment.byte", KLOG_NTS, "1", KLOG_NTS, &err));
    EXPECT(KLOG_OK, klog_config_set_topic(config, "t", 1, "internal.segment.bytes", KLOG_NTS, "300", 3, &err));
    EXPECT(KLOG_ERR_BUFFER_TOO_SMALL, klog_config_get(config, "log.segment.bytes", KLOG_NTS, NULL, 0, &needed, &err));
    EXPECT(KLOG_OK, klog_config_get(config, "log.segment.bytes", KLOG_NTS, buffer, needed, NULL, &err));
    options.config = config;
    EXPECT(KLOG_OK, klog_manager_open(&options, &manager, &err));
    EXPECT(KLOG_OK, klog_config_close(config));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_config_close(config));
    options.config.id = 0;
    EXPECT(KLOG_ERR_DIR_LOCKED, klog_manager_open(&options, &second, &err));

    EXPECT(KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION, klog_log_open(manager, "t", 1, 0, NULL, &log, &err));
    create.flags = KLOG_LOG_CREATE;
    EXPECT(KLOG_ERR_INVALID_TOPIC_EXCEPTION, klog_log_open(manager, "../t", KLOG_NTS, 0, &create, &log, &err));
    EXPECT(KLOG_OK, klog_log_open(manager, "t", 1, 0, &create, &log, &err));
    EXPECT(KLOG_OK, klog_log_open(manager, "t", 1, 0, &create, &log_again, &err));

    EXPECT(KLOG_ERR_NULL_HANDLE, klog_log_end_offset(early.id == 0 ? (klog_log){0} : log, &end));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_log_end_offset(garbage_log, &end));
    garbage_log.id = manager.id;
    EXPECT(KLOG_ERR_WRONG_KIND, klog_log_end_offset(garbage_log, &end));
    EXPECT(KLOG_ERR_NULL_ARGUMENT, klog_append(log, NULL, 1, NULL, NULL, &err));
    records[1].value_len = 10;
    EXPECT(KLOG_ERR_NULL_ARGUMENT, klog_append(log, records, 3, NULL, NULL, &err));
    records[1].value_len = 0;
    append_options.compression = 77;
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_append(log, records, 3, &append_options, NULL, &err));
    for (int codec = KLOG_COMPRESSION_CONFIG; codec <= KLOG_COMPRESSION_ZSTD; codec++) {
        append_options.compression = codec;
        EXPECT(KLOG_OK, klog_append(log, records, 3, &append_options, &appended, &err));
    }
    memset(buffer, 0, sizeof buffer);
    EXPECT(KLOG_ERR_CORRUPT_MESSAGE, klog_append_batches(log, buffer, sizeof buffer, NULL, NULL, &err));
    EXPECT(KLOG_ERR_INVALID_ARGUMENT, klog_append_packed(log, buffer, sizeof buffer, NULL, NULL, &err));
    EXPECT(KLOG_ERR_OFFSET_OUT_OF_RANGE, klog_read(log, 99, NULL, buffer, sizeof buffer, &result, &err));
    EXPECT(KLOG_ERR_BUFFER_TOO_SMALL, klog_read(log, 0, NULL, buffer, 10, &result, &err));
    EXPECT(KLOG_OK, klog_read(log, 0, NULL, buffer, (size_t)result.bytes_needed, &result, &err));

    EXPECT(KLOG_OK, klog_cursor_open(log, 0, NULL, &cursor, &err));
    EXPECT(KLOG_OK, klog_cursor_next(cursor, records, 3, &result, &err));
    EXPECT(KLOG_ERR_BUFFER_TOO_SMALL, klog_cursor_next_packed(cursor, buffer, 33, &result, &err));
    EXPECT(KLOG_OK, klog_cursor_next_packed(cursor, buffer, 32 + 48, &result, &err));

    misuse_waits(manager, log);
    misuse_appender(log);
    cancel_waits(manager, log);
    fork_with(manager, log);

    /* The manager goes first, its children after it; who waits in them is woken, and a view stays what it is. */
    EXPECT(KLOG_OK, klog_log_close(log_again));
    EXPECT(KLOG_OK, klog_view_open(log, 0, NULL, &view, &lent, &err));
    for (uint64_t i = 0; i < lent.len; i++) {
        sum += ((const unsigned char *)lent.data)[i];
    }
    EXPECT(KLOG_OK, klog_appender_open(log, NULL, &appender, &err));
    EXPECT(KLOG_OK, klog_appender_add(appender, records, 0, 0, &ticket, &err));
    memset(records, 0, sizeof records);
    EXPECT(KLOG_OK, klog_appender_add(appender, records, 1, 0, &ticket, &err));
    left = waits_of(manager, log);
    token = left.options.cancel;
    pthread_create(&thread, NULL, wait_for_nothing, &left);
    EXPECT(KLOG_OK, klog_manager_close(manager, 0, -1, &err));
    pthread_join(thread, NULL);
    EXPECT(KLOG_ERR_CLOSED, left.wait);
    EXPECT(KLOG_ERR_CLOSED, left.next);
    EXPECT(KLOG_ERR_CLOSED, left.poll);
    EXPECT(KLOG_ERR_CLOSED, klog_appender_add(appender, records, 1, -1, &ticket, &err));
    EXPECT(KLOG_ERR_CLOSED, klog_appender_wait(appender, ticket, -1, never, NULL, &err));
    left.options.cancel.id = 0;
    EXPECT(KLOG_ERR_CLOSED, klog_waiter_arm(left.waiter, log, &left.options, 0, &err));
    EXPECT(KLOG_ERR_CLOSED, klog_appender_close(appender, 0, &err)); /* what it held is lost, but it is closed */
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_appender_close(appender, 0, &err));
    EXPECT(KLOG_OK, klog_waiter_close(left.waiter));
    EXPECT(KLOG_OK, klog_cursor_close(left.cursor));
    EXPECT(KLOG_OK, klog_cancel_close(token));
    for (uint64_t i = 0; i < lent.len; i++) {
        sum -= ((const unsigned char *)lent.data)[i];
    }
    if (lent.len == 0 || sum != 0) {
        fprintf(stderr, "the view is not what it was\n");
        wrong++;
    }
    EXPECT(KLOG_OK, klog_view_close(view));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_view_close(view));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_manager_close(manager, 0, -1, &err));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_manager_get_info(manager, &counts, &err));
    EXPECT(KLOG_ERR_CLOSED, klog_log_get_info(log, &info, &err));
    EXPECT(KLOG_ERR_CLOSED, klog_append(log, NULL, 0, NULL, NULL, &err));
    EXPECT(KLOG_ERR_CLOSED, klog_cursor_next(cursor, records, 3, &result, &err));
    EXPECT(KLOG_OK, klog_log_close(log));
    EXPECT(KLOG_OK, klog_cursor_close(cursor));
    EXPECT(KLOG_ERR_STALE_HANDLE, klog_cursor_close(cursor));

    EXPECT(KLOG_OK, klog_manager_open(&options, &manager, &err));
    EXPECT(KLOG_OK, klog_manager_get_info(manager, &counts, &err));
    if (counts.open_handles != 1 || counts.segments_recovered != 0) {
        fprintf(stderr, "%d handles are open, %d segments were recovered\n", (int)counts.open_handles,
                (int)counts.segments_recovered);
        wrong++;
    }
    EXPECT(KLOG_OK, klog_manager_close(manager, KLOG_CLOSE_ABANDON, -1, &err));
    return wrong == 0 ? 0 : 1;
}
