/*
 * Four threads append small records through one appender, which makes few batches of them, while this one follows the log with
 * a cursor that waits. Usage: appender DIR
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "klog.h"

enum { THREADS = 4, RECORDS = 250 };

static void must(klog_status status, const char *what, const klog_error *err) {
    if (status != KLOG_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, klog_status_name(status), err->message);
        exit(1);
    }
}

static void *append(void *of) {
    const klog_appender appender = *(const klog_appender *)of;
    const klog_cancel never = {0};
    klog_error err = KLOG_INIT(klog_error);
    klog_append_result result = KLOG_INIT(klog_append_result);
    klog_record record = {0};
    uint64_t ticket = 0;
    record.value = "measured";
    record.value_len = 8;
    for (int n = 0; n < RECORDS; n++) {
        must(klog_appender_add(appender, &record, 1, -1, &ticket, &err), "add", &err); /* copied: the memory is ours again */
    }
    /* Who waits appends for all. What was added before is in the log before it. */
    must(klog_appender_wait(appender, ticket, -1, never, &result, &err), "wait", &err);
    return NULL;
}

int main(int argc, char **argv) {
    klog_error err = KLOG_INIT(klog_error);
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_read_options waiting = KLOG_INIT(klog_read_options);
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_manager manager;
    klog_log log;
    klog_appender appender;
    klog_cursor cursor;
    klog_record records[100];
    pthread_t threads[THREADS];

    if (argc != 2) {
        return 2;
    }
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    create.flags = KLOG_LOG_CREATE;
    must(klog_manager_open(&options, &manager, &err), "open", &err);
    must(klog_log_open(manager, "measures", KLOG_NTS, 0, &create, &log, &err), "measures-0", &err);
    must(klog_appender_open(log, NULL, &appender, &err), "appender", &err);
    must(klog_cancel_create(&waiting.cancel, &err), "token", &err);
    waiting.timeout_ms = -1;
    must(klog_cursor_open(log, 0, &waiting, &cursor, &err), "cursor", &err);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, append, &appender);
    }
    for (int left = THREADS * RECORDS; left > 0; left -= (int)result.records) {
        must(klog_cursor_next(cursor, records, 100, &result, &err), "next", &err);
    }
    printf("followed %" PRId64 " records\n", result.next_offset);
    klog_cancel_fire(waiting.cancel); /* from any thread, or a signal handler: it ends what carries the token, and nothing else */
    printf("then: %s\n", klog_status_name(klog_cursor_next(cursor, records, 100, &result, &err)));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    must(klog_appender_close(appender, 0, &err), "close the appender", &err); /* before its manager: it flushes */
    must(klog_manager_close(manager, 0, -1, &err), "close", &err);
    return klog_cursor_close(cursor) != KLOG_OK || klog_cancel_close(waiting.cancel) != KLOG_OK
           || klog_log_close(log) != KLOG_OK;
}
