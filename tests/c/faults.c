/*
 * What a program meets when the disk fails, is full or hangs, or klog has a defect: statuses that say what, where and which errno,
 * nothing that was acknowledged lost, and a close that ends. Needs a library for tests (klog_testing.h). `faults DIR`.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog_testing.h"

static klog_error err = KLOG_INIT(klog_error);
static klog_manager manager;
static klog_log logs[2];

static void check(int is_good, const char *what, int line) {
    if (!is_good) {
        fprintf(stderr, "faults.c %d: %s; last error: %s\n", line, what, err.message);
        exit(1);
    }
}

#define CHECK(condition) check((condition), #condition, __LINE__)
#define MUST(call) check((call) == KLOG_OK, #call, __LINE__)

static void open_in(const char *dir) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    options.dirs = &dir;
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS;
    create.flags = KLOG_LOG_CREATE;
    MUST(klog_manager_open(&options, &manager, &err));
    MUST(klog_log_open(manager, "orders", KLOG_NTS, 0, &create, &logs[0], &err));
    MUST(klog_log_open(manager, "stock", KLOG_NTS, 0, &create, &logs[1], &err));
}

static klog_status append(klog_log log, int64_t *offset) {
    return klog_append_one(log, NULL, 0, "value", 5, KLOG_TIMESTAMP_NOW, offset, &err);
}

static void must_end_at(klog_log log, int64_t wanted) {
    int64_t end = -1;
    MUST(klog_log_end_offset(log, &end));
    CHECK(end == wanted);
}

/* The disk is full for a while: nothing is appended, all is as before, and it goes on when there is room. */
static void a_full_disk_is_told_and_got_over(void) {
    int64_t offset = -1;
    MUST(append(logs[0], &offset));
    MUST(klog_testing_fail("write", "/orders-0/", 0, 2, ENOSPC));
    CHECK(append(logs[0], &offset) == KLOG_ERR_NO_SPACE);
    CHECK(err.os_errno == ENOSPC && strstr(err.path, "orders-0/00000000000000000000.log") != NULL);
    CHECK((err.flags & KLOG_ERRF_RETRIABLE) != 0 && (err.flags & KLOG_ERRF_DIR_OFFLINE) == 0);
    must_end_at(logs[0], 1);
    MUST(append(logs[1], &offset));
    CHECK(append(logs[0], &offset) == KLOG_ERR_NO_SPACE);
    MUST(append(logs[0], &offset));
    CHECK(offset == 1);
    klog_testing_clear();
}

/* An fsync that failed is the end of a directory: what it holds is not known. */
static void a_failed_sync_takes_the_directory_offline(const char *dir) {
    int64_t offset;
    MUST(klog_testing_fail("sync", "/orders-0/", 0, 1, EIO));
    CHECK(klog_flush(logs[0], -1, 0, &err) == KLOG_ERR_KAFKA_STORAGE_ERROR);
    CHECK(err.os_errno == EIO && (err.flags & KLOG_ERRF_DIR_OFFLINE) != 0);
    CHECK(append(logs[0], &offset) == KLOG_ERR_DIR_OFFLINE);
    CHECK(append(logs[1], &offset) == KLOG_ERR_DIR_OFFLINE);
    klog_testing_clear();
    (void)klog_manager_close(manager, 0, -1, &err);
    open_in(dir);
    must_end_at(logs[0], 2);
    must_end_at(logs[1], 1);
}

/* The directory cannot be opened, for several reasons; then it can. */
static void an_open_that_fails_leaves_nothing_behind(const char *dir) {
    const char *operations[] = {"open", "list", "lock", "read"};
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_manager failed = {7};
    size_t i;
    MUST(klog_manager_close(manager, 0, -1, &err));
    options.dirs = &dir;
    options.dir_count = 1;
    for (i = 0; i < sizeof operations / sizeof *operations; i++) {
        MUST(klog_testing_fail(operations[i], "", 0, UINT64_MAX, EMFILE));
        CHECK(klog_manager_open(&options, &failed, &err) != KLOG_OK);
        CHECK(failed.id == 0);
        klog_testing_clear();
    }
    open_in(dir);
    must_end_at(logs[0], 2);
}

static void *append_held(void *status) {
    klog_error own = KLOG_INIT(klog_error);
    *(klog_status *)status = klog_append_one(logs[0], NULL, 0, "held", 4, KLOG_TIMESTAMP_NOW, NULL, &own);
    return NULL;
}

static void *close_all(void *status) {
    klog_error own = KLOG_INIT(klog_error);
    *(klog_status *)status = klog_manager_close(manager, 0, -1, &own);
    return NULL;
}

/* A call that hangs in the disk keeps the close waiting, and nobody else; it ends with what it was told to do done. */
static void a_close_waits_for_a_call_that_hangs_in_the_disk(const char *dir) {
    klog_status appended = KLOG_ERR_BUG, closed = KLOG_ERR_BUG, status;
    pthread_t appending, closing;
    int64_t offset;
    MUST(klog_testing_hold("write", "/orders-0/"));
    CHECK(pthread_create(&appending, NULL, append_held, &appended) == 0);
    klog_testing_await_held(1);
    MUST(append(logs[1], &offset));
    CHECK(pthread_create(&closing, NULL, close_all, &closed) == 0);
    /* The close has begun when others are sent away; it has not ended, for one hangs. */
    do {
        status = append(logs[1], &offset);
    } while (status == KLOG_OK);
    CHECK(status == KLOG_ERR_CLOSED || status == KLOG_ERR_STALE_HANDLE);
    CHECK(appended == KLOG_ERR_BUG && closed == KLOG_ERR_BUG);
    klog_testing_clear();
    CHECK(pthread_join(appending, NULL) == 0 && pthread_join(closing, NULL) == 0);
    CHECK(appended == KLOG_OK && closed == KLOG_OK);
    open_in(dir);
    must_end_at(logs[0], 3);
}

/* The same with a limit: the close goes on, can be waited for, and says how it ended, once. */
static void a_close_that_takes_too_long_can_be_called_again(const char *dir) {
    klog_status appended = KLOG_ERR_BUG;
    klog_manager_info info = KLOG_INIT(klog_manager_info);
    klog_manager ended;
    pthread_t appending;
    int64_t offset;
    MUST(klog_testing_hold("write", "/orders-0/"));
    CHECK(pthread_create(&appending, NULL, append_held, &appended) == 0);
    klog_testing_await_held(1);
    CHECK(klog_manager_close(manager, 0, -2, &err) == KLOG_ERR_INVALID_ARGUMENT);
    MUST(append(logs[1], &offset));
    CHECK(klog_manager_close(manager, 0, 0, &err) == KLOG_ERR_TIMED_OUT);
    CHECK((err.flags & KLOG_ERRF_RETRIABLE) != 0);
    CHECK(klog_manager_close(manager, KLOG_CLOSE_ABANDON, 20, &err) == KLOG_ERR_TIMED_OUT);
    CHECK(klog_manager_get_info(manager, &info, &err) == KLOG_ERR_CLOSED);
    CHECK(appended == KLOG_ERR_BUG);
    klog_testing_clear();
    MUST(klog_manager_close(manager, 0, 60000, &err));
    CHECK(pthread_join(appending, NULL) == 0 && appended == KLOG_OK);
    ended = manager;
    open_in(dir);
    must_end_at(logs[0], 4);
    CHECK(klog_manager_close(ended, 0, -1, &err) == KLOG_ERR_STALE_HANDLE);
    CHECK(klog_manager_close(ended, 0, 5, &err) == KLOG_ERR_STALE_HANDLE);
    /* In time. */
    MUST(klog_manager_close(manager, 0, 60000, &err));
    open_in(dir);
    /* One that begins the close, and one that waits without limit. */
    ended = manager;
    if (klog_manager_close(ended, 0, 0, &err) == KLOG_ERR_TIMED_OUT) {
        MUST(klog_manager_close(ended, 0, -1, &err));
    }
    open_in(dir);
}

/* A defect is a status; the manager is poisoned, what is there can be read, and the next open recovers. */
static void a_defect_is_a_status(const char *dir) {
    klog_read_result result = KLOG_INIT(klog_read_result);
    char buf[512];
    int64_t offset;
    klog_record record;
    memset(&record, 0, sizeof record);
    MUST(klog_testing_panic("klog_read"));
    CHECK(klog_read(logs[0], 0, NULL, buf, sizeof buf, &result, &err) == KLOG_ERR_PANIC);
    CHECK((err.flags & KLOG_ERRF_FATAL) != 0);
    /* In the middle of an append: nobody knows what is half done. */
    MUST(klog_testing_panic("klog_append: inside"));
    CHECK(klog_append(logs[0], &record, 1, NULL, NULL, &err) == KLOG_ERR_PANIC);
    CHECK(append(logs[0], &offset) == KLOG_ERR_POISONED);
    MUST(klog_read(logs[0], 0, NULL, buf, sizeof buf, &result, &err));
    CHECK(result.next_offset == 4);
    (void)klog_manager_close(manager, 0, -1, &err);
    open_in(dir);
    must_end_at(logs[0], 4);
    MUST(klog_testing_empty_call(logs[0]));
}

int main(int argc, char **argv) {
    if (argc != 2) {
        return 2;
    }
    open_in(argv[1]);
    a_full_disk_is_told_and_got_over();
    a_failed_sync_takes_the_directory_offline(argv[1]);
    an_open_that_fails_leaves_nothing_behind(argv[1]);
    a_close_waits_for_a_call_that_hangs_in_the_disk(argv[1]);
    a_close_that_takes_too_long_can_be_called_again(argv[1]);
    a_defect_is_a_status(argv[1]);
    MUST(klog_manager_close(manager, 0, -1, &err));
    puts("all faults were met");
    return 0;
}
