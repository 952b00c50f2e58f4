/*
 * klog in an event loop: no thread but this one. A timer runs what is due in klog, an eventfd tells of what happened in it; both
 * sit in the program's own epoll. Here the loop appends, too, and ends after three rolls. Usage: epoll DIR
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
    const struct itimerspec every_10_ms = {{0, 10000000}, {0, 10000000}};
    const klog_cancel never = {0};
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), happened, rolls = 0;
    klog_manager manager;
    klog_log log;
    klog_events events;

    if (argc != 2) {
        return 2;
    }
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS;
    create.flags = KLOG_LOG_CREATE;
    must(klog_manager_open(&options, &manager, &err) == KLOG_OK, "open");
    must(klog_log_open(manager, "orders", KLOG_NTS, 0, &create, &log, &err) == KLOG_OK, "orders-0");
    must(klog_events_open(manager, KLOG_EVENT_ROLLED, 0, &events, &happened, &err) == KLOG_OK, "events");
    must(timerfd_settime(timer, 0, &every_10_ms, NULL) == 0, "timerfd_settime");
    watch(epoll, timer);
    watch(epoll, happened);

    while (rolls < 3) {
        struct epoll_event ready;
        must(epoll_wait(epoll, &ready, 1, 10000) == 1, "epoll_wait");
        if (ready.data.fd == timer) {
            uint64_t expired;
            must(read(timer, &expired, sizeof expired) == sizeof expired, "read");
            must(klog_tick(manager, -1, 0, NULL, &err) == KLOG_OK, "tick");
            must(klog_append_one(log, NULL, 0, "tick", 4, KLOG_TIMESTAMP_NOW, NULL, &err) == KLOG_OK, "append");
            must(klog_roll(log, NULL, &err) == KLOG_OK, "roll");
        } else {
            char lines[4096];
            size_t count;
            must(klog_events_poll(events, lines, sizeof lines, &count, 0, never, &err) == KLOG_OK, "poll");
            for (char *line = strtok(lines, "\n"); line != NULL && rolls < 3; line = strtok(NULL, "\n")) {
                printf("%d: %.*s\n", ++rolls, (int)strcspn(line, "\t"), line);
            }
        }
    }
    must(klog_manager_close(manager, 0, -1, &err) == KLOG_OK, "close");
    return klog_events_close(events) != KLOG_OK || klog_log_close(log) != KLOG_OK || close(timer) != 0 || close(epoll) != 0;
}
