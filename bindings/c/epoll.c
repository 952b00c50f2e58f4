/*
 * klog in an event loop: no thread but this one. A timer runs what is due in klog, a waiter's descriptor tells which logs have
 * something to read; both sit in the program's own epoll. Here the loop appends, too, and ends after three. Usage: epoll DIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "klog.h"

static klog_error err = KLOG_INIT(klog_error);

static void must(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s: %s\n", what, err.message);
        exit(1);
    }
}

static void watch(int epoll, int fd) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    event.data.fd = fd;
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

int main(int argc, char **argv) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_wait_options next = KLOG_INIT(klog_wait_options);
    klog_read_result result = KLOG_INIT(klog_read_result);
    const struct itimerspec every_10_ms = {{0, 10000000}, {0, 10000000}};
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), ready;
    klog_manager manager;
    klog_log log;
    klog_cursor cursor;
    klog_waiter waiter; /* one for all logs of the program, thousands of them */

    must(argc == 2, "Usage: epoll DIR");
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS;
    create.flags = KLOG_LOG_CREATE;
    must(klog_manager_open(&options, &manager, &err) == KLOG_OK, "open");
    must(klog_log_open(manager, "orders", KLOG_NTS, 0, &create, &log, &err) == KLOG_OK, "orders-0");
    must(klog_cursor_open(log, 0, NULL, &cursor, &err) == KLOG_OK, "cursor");
    must(klog_waiter_open(manager, &waiter, &ready, &err) == KLOG_OK, "waiter");
    must(timerfd_settime(timer, 0, &every_10_ms, NULL) == 0, "timerfd_settime");
    watch(epoll, timer);
    watch(epoll, ready);

    next.timeout_ms = -1;
    must(klog_waiter_arm(waiter, log, &next, 0, &err) == KLOG_OK, "arm");
    while (next.offset < 3) {
        struct epoll_event event;
        must(epoll_wait(epoll, &event, 1, 10000) == 1, "epoll_wait");
        if (event.data.fd == timer) {
            uint64_t expired;
            must(read(timer, &expired, sizeof expired) == sizeof expired, "read");
            must(klog_tick(manager, -1, 0, NULL, &err) == KLOG_OK, "tick");
            must(klog_append_one(log, NULL, 0, "tick", 4, KLOG_TIMESTAMP_NOW, NULL, &err) == KLOG_OK, "append");
        } else {
            klog_ready which; /* its user_data, given to arm, finds the program's own things */
            klog_record record;
            must(klog_waiter_poll(waiter, &which, 1, NULL, 0, &err) == KLOG_OK, "poll");
            for (; next.offset < 3 && klog_cursor_next(cursor, &record, 1, &result, &err) == KLOG_OK; next.offset++) {
                printf("%d: %.*s\n", (int)record.offset, (int)record.value_len, (const char *)record.value);
            }
            must(klog_waiter_arm(waiter, which.log, &next, which.user_data, &err) == KLOG_OK, "arm again");
        }
    }
    must(klog_manager_close(manager, 0, -1, &err) == KLOG_OK, "close");
    return klog_waiter_close(waiter) != KLOG_OK || klog_cursor_close(cursor) != KLOG_OK || klog_log_close(log) != KLOG_OK
           || close(timer) != 0 || close(epoll) != 0;
}
