/*
 * Retention: what is older than retention.ms goes, segment by segment; first only told, then done. The clock is the program's
 * own, and nothing runs but what it calls. Usage: retention DIR
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "klog.h"

#define START INT64_C(1700000000000)
#define SECOND 1000

static klog_error err = KLOG_INIT(klog_error);

static void must(klog_status status, const char *what) {
    if (status != KLOG_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, klog_status_name(status), err.message);
        exit(1);
    }
}

static void set(klog_config config, const char *key, const char *value) {
    must(klog_config_set_topic(config, "orders", KLOG_NTS, key, KLOG_NTS, value, KLOG_NTS, &err), key);
}

static void show(klog_log log, const char *when) {
    klog_log_info info = KLOG_INIT(klog_log_info);
    must(klog_log_get_info(log, &info, &err), when);
    printf("%s: offsets %" PRId64 "..%" PRId64 " in %" PRIu64 " segments\n", when, info.log_start_offset,
           info.log_end_offset, info.segments);
}

int main(int argc, char **argv) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_retain_result result = KLOG_INIT(klog_retain_result);
    klog_tick_result tick = KLOG_INIT(klog_tick_result);
    klog_config config;
    klog_manager manager;
    klog_log log;

    if (argc != 2) {
        return 2;
    }
    must(klog_config_create(KLOG_CONFIG_BROKER, &config, &err), "config");
    set(config, "retention.ms", "10000");
    set(config, "segment.ms", "2000");
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS | KLOG_OPEN_MANUAL_CLOCK;
    options.now_ms = START;
    options.config = config;
    must(klog_manager_open(&options, &manager, &err), "open");
    must(klog_config_close(config), "close the config"); /* it was copied */
    create.flags = KLOG_LOG_CREATE;
    must(klog_log_open(manager, "orders", KLOG_NTS, 0, &create, &log, &err), "orders-0");

    for (int n = 0; n < 9; n++) {
        must(klog_append_one(log, NULL, 0, "order", 5, START + n * SECOND, NULL, &err), "append");
    }
    show(log, "appended");
    must(klog_tick(manager, START + 14 * SECOND, 0, &tick, &err), "tick"); /* sets the clock, runs what is due */
    must(klog_retain(manager, log, KLOG_DRY_RUN, &result, &err), "retain");
    printf("%" PRIu64 " segments would go\n", result.segments_deleted);
    show(log, "nothing has");
    must(klog_retain(manager, log, 0, &result, &err), "retain");
    printf("%" PRIu64 " segments went\n", result.segments_deleted);
    show(log, "after retention");

    klog_log_close(log);
    must(klog_manager_close(manager, 0, -1, &err), "close");
    return 0;
}
