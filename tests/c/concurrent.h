/*
 * What the programs of tests/scenarios/concurrent share: checks that end the program, logs that are opened, random numbers.
 */
#ifndef KLOG_TESTS_CONCURRENT_H
#define KLOG_TESTS_CONCURRENT_H

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog.h"

#define T0 INT64_C(1000000000000)

/* Ends the program, which tells what is wrong and where: threads have nothing better to do with it. */
#define FAIL(...)                                                                                                            \
    do {                                                                                                                     \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                                      \
        fprintf(stderr, __VA_ARGS__);                                                                                        \
        fputc('\n', stderr);                                                                                                 \
        exit(1);                                                                                                             \
    } while (0)

#define MUST(call)                                                                                                           \
    do {                                                                                                                     \
        klog_error err = KLOG_INIT(klog_error);                                                                              \
        klog_status must_status = (call);                                                                                    \
        if (must_status != KLOG_OK) FAIL("%s: %s: %s", #call, klog_status_name(must_status), err.message);                   \
    } while (0)

/* A number that is as good as random; the state is the caller's. */
static uint64_t next_random(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static klog_manager open_manager(const char *dir) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_manager manager;
    options.dirs = &dir;
    options.dir_count = 1;
    options.flags = KLOG_OPEN_MANUAL_CLOCK;
    options.now_ms = T0;
#ifdef ONE_LOADS
    /* The thread sanitizer does not see that the threads which load and close logs have ended: std is not instrumented. */
    options.recovery_threads = 1;
#endif
    MUST(klog_manager_open(&options, &manager, &err));
    return manager;
}

/* Opens a log, with KEY=VALUE pairs of its topic, count of them. */
static klog_log open_log(klog_manager manager, const char *topic, char **pairs, int count) {
    klog_log_options options = KLOG_INIT(klog_log_options);
    klog_log log;
    MUST(klog_config_create(KLOG_CONFIG_TOPIC, &options.config, &err));
    for (int i = 0; i < count; i++) {
        size_t key_len = strcspn(pairs[i], "=");
        MUST(klog_config_set(options.config, pairs[i], key_len, pairs[i] + key_len + 1, KLOG_NTS, &err));
    }
    options.flags = KLOG_LOG_CREATE;
    MUST(klog_log_open(manager, topic, KLOG_NTS, 0, &options, &log, &err));
    MUST(klog_config_close(options.config));
    return log;
}

static void start(pthread_t *thread, void *(*body)(void *), void *with) {
    if (pthread_create(thread, NULL, body, with) != 0) FAIL("no thread");
}

#endif
