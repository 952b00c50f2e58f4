/*
 * One path, so many times: for a count of its instructions (tests/run/counted). The work is the same in every run.
 *
 * Usage: counted DIR append|append_one|encode|scan|read|time|time_many|clean|recover|open TIMES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog.h"

#define LOT 100
#define LOTS 40
#define TIME 1700000000000LL
/* Segments of the log of time_many, and partitions of the directory of open. */
#define MANY 100

static const char *dir;
static klog_manager manager;
static klog_error err = KLOG_INIT(klog_error);
static char keys[LOT][16];
static char value[100];
static klog_record records[LOT];
static char buffer[1 << 16];
static klog_record places[LOT];

static void must(klog_status status) {
    if (status != KLOG_OK) {
        fprintf(stderr, "%s: %s\n", klog_status_name(status), err.message);
        exit(1);
    }
}

static void make_records(void) {
    memset(value, 'v', sizeof value);
    for (int i = 0; i < LOT; i++) {
        records[i].key = keys[i];
        records[i].key_len = (uint64_t)snprintf(keys[i], sizeof keys[i], "key-%010d", i);
        records[i].value = value;
        records[i].value_len = sizeof value;
        records[i].flags = KLOG_RECORD_HAS_TIMESTAMP;
        records[i].timestamp_ms = TIME + i;
    }
}

static void append(klog_log log) {
    must(klog_append(log, records, LOT, NULL, NULL, &err));
}

static void scan(klog_log log, int lots) {
    klog_cursor cursor;
    klog_read_result result = KLOG_INIT(klog_read_result);

    must(klog_cursor_open(log, 0, NULL, &cursor, &err));
    for (int i = 0; i < lots; i++) {
        must(klog_cursor_next(cursor, places, LOT, &result, &err));
        if (result.records != LOT) {
            exit(1);
        }
    }
    must(klog_cursor_close(cursor));
}

/* Opens the directory; everything is set up in it before, and what time it is plays no part. */
static void open_manager(void) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_config config;

    must(klog_config_create(KLOG_CONFIG_BROKER, &config, &err));
    must(klog_config_set_topic(config, "compacted", KLOG_NTS, "cleanup.policy", KLOG_NTS, "compact", KLOG_NTS, &err));
    must(klog_config_set(config, "num.recovery.threads.per.data.dir", KLOG_NTS, "1", KLOG_NTS, &err));
    options.dirs = &dir;
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS;
    options.config = config;
    must(klog_manager_open(&options, &manager, &err));
    must(klog_config_close(config));
}

static klog_log open_log(const char *topic, int partition) {
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_log log;

    create.flags = KLOG_LOG_CREATE;
    must(klog_log_open(manager, topic, KLOG_NTS, partition, &create, &log, &err));
    return log;
}

/* The time of the last record of a log whose lots are a second apart. */
static void find_last(klog_log log, int lots) {
    klog_timestamp_offset found = KLOG_INIT(klog_timestamp_offset);
    int64_t wanted = TIME + 1000LL * (lots - 1) + LOT - 1;

    must(klog_offset_for_timestamp(log, wanted, &found, &err));
    if (found.timestamp_ms != wanted) {
        exit(1);
    }
}

/* Lots of which each has later times than those before; each in a segment of its own if so wanted. */
static void append_later(klog_log log, int lots, int roll) {
    for (int i = 0; i < lots; i++) {
        for (int n = 0; n < LOT; n++) {
            records[n].timestamp_ms = TIME + 1000LL * i + n;
        }
        append(log);
        if (roll && i + 1 < lots) {
            must(klog_roll(log, NULL, &err));
        }
    }
}

/* LOTS lots with the keys of one, and a pass that leaves one of them. */
static void clean(klog_log log) {
    klog_clean_options options = KLOG_INIT(klog_clean_options);
    klog_clean_result result = KLOG_INIT(klog_clean_result);

    options.flags = KLOG_CLEAN_ROLL;
    options.map_bytes = 1 << 20;
    for (int i = 0; i < LOTS; i++) {
        append(log);
    }
    must(klog_clean(manager, log, &options, &result, &err));
}

static void work(const char *what, klog_log log) {
    klog_read_result read = KLOG_INIT(klog_read_result);
    size_t needed;

    if (strcmp(what, "append") == 0) {
        append(log);
    } else if (strcmp(what, "append_one") == 0) {
        must(klog_append_one(log, keys[0], 14, value, sizeof value, TIME, NULL, &err));
    } else if (strcmp(what, "encode") == 0) {
        must(klog_encode(records, LOT, NULL, 0, buffer, sizeof buffer, &needed, &err));
    } else if (strcmp(what, "scan") == 0) {
        scan(log, LOTS);
    } else if (strcmp(what, "read") == 0) {
        must(klog_read(log, LOT * LOTS / 2 + LOT / 2, NULL, buffer, sizeof buffer / 4, &read, &err));
    } else if (strcmp(what, "time") == 0) {
        find_last(log, LOTS);
    } else if (strcmp(what, "time_many") == 0) {
        find_last(log, MANY);
    } else if (strcmp(what, "clean") == 0) {
        clean(log);
    } else if (strcmp(what, "recover") == 0) {
        must(klog_manager_close(manager, KLOG_CLOSE_ABANDON, -1, &err));
        open_manager();
    } else if (strcmp(what, "open") == 0) {
        must(klog_manager_close(manager, 0, -1, &err));
        open_manager();
    } else {
        exit(2);
    }
}

/* What the path works on. */
static klog_log prepare(const char *what) {
    klog_log log = open_log(strcmp(what, "clean") == 0 ? "compacted" : "counted", 0);

    if (strcmp(what, "time_many") == 0) {
        append_later(log, MANY, 1);
    } else if (strcmp(what, "open") == 0) {
        for (int i = 0; i < MANY; i++) {
            append(open_log("counted", i));
        }
    } else {
        append_later(log, LOTS, 0);
    }
    return log;
}

int main(int argc, char **argv) {
    klog_log log;

    if (argc != 4) {
        return 2;
    }
    dir = argv[1];
    make_records();
    open_manager();
    log = prepare(argv[2]);
    for (int i = atoi(argv[3]); i > 0; i--) {
        work(argv[2], log);
    }
    must(klog_manager_close(manager, KLOG_CLOSE_ABANDON, -1, &err));
    return 0;
}
