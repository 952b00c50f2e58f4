/* Compaction keeps the last value of each key: a log as a table. Usage: compaction DIR */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog.h"

static klog_error err = KLOG_INIT(klog_error);

static void must(klog_status status, const char *what) {
    if (status != KLOG_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, klog_status_name(status), err.message);
        exit(1);
    }
}

/* Reads the log as a table: a value of each article, unless a tombstone took it. */
static void tell(klog_log log, const char *what) {
    char table[50][8] = {{0}};
    int count = 0, articles = 0;
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_record records[100];
    klog_cursor cursor;
    must(klog_cursor_open(log, 0, NULL, &cursor, &err), "cursor");
    while (klog_cursor_next(cursor, records, 100, &result, &err) == KLOG_OK) {
        for (uint32_t i = 0; i < result.records; i++, count++) {
            char *price = table[atoi((const char *)records[i].key + strlen("article-"))];
            snprintf(price, sizeof table[0], "%.*s", (int)records[i].value_len, (const char *)records[i].value);
        }
    }
    for (int article = 0; article < 50; article++) {
        articles += table[article][0] != 0;
    }
    printf("%s: %d records, %d articles, article-08 costs %s\n", what, count, articles, table[8]);
    klog_cursor_close(cursor);
}

int main(int argc, char **argv) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_clean_options how = KLOG_INIT(klog_clean_options);
    klog_clean_result cleaned = KLOG_INIT(klog_clean_result);
    klog_manager manager;
    klog_log log;

    if (argc != 2) {
        return 2;
    }
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    options.flags = KLOG_OPEN_CREATE_DIRS; /* with background_threads the library compacts what is dirty enough by itself */
    must(klog_manager_open(&options, &manager, &err), "open");
    must(klog_config_create(KLOG_CONFIG_TOPIC, &create.config, &err), "config");
    must(klog_config_set(create.config, "cleanup.policy", KLOG_NTS, "compact", KLOG_NTS, &err), "cleanup.policy");
    create.flags = KLOG_LOG_CREATE;
    must(klog_log_open(manager, "prices", KLOG_NTS, 0, &create, &log, &err), "prices-0");
    for (int n = 0; n < 5000; n++) {
        char key[16], value[16];
        int key_len = snprintf(key, sizeof key, "article-%02d", n % 50);
        int value_len = snprintf(value, sizeof value, "%d.%02d", 10 + n % 50, n / 50);
        must(klog_append_one(log, key, (size_t)key_len, value, (size_t)value_len, KLOG_TIMESTAMP_NOW, NULL, &err), key);
    }
    /* A record without a value is a tombstone: it deletes its key, and goes itself after delete.retention.ms. */
    must(klog_append_one(log, "article-07", 10, NULL, 0, KLOG_TIMESTAMP_NOW, NULL, &err), "tombstone");
    tell(log, "appended");

    how.flags = KLOG_CLEAN_ROLL | KLOG_DRY_RUN; /* what would go; the roll is there since the active segment is never compacted */
    must(klog_clean(manager, log, &how, &cleaned, &err), "dry run");
    printf("%" PRIu64 " records would go\n", cleaned.records_read - cleaned.records_kept);
    how.flags = KLOG_CLEAN_ROLL; /* in another thread klog_clean_get_progress tells how far it is, how.cancel would end it */
    must(klog_clean(manager, log, &how, &cleaned, &err), "clean");
    printf("read %" PRIu64 " records, kept %" PRIu64 ", superseded %" PRIu64 "\n", cleaned.records_read, cleaned.records_kept,
           cleaned.dropped_superseded);
    tell(log, "compacted");
    return klog_log_close(log) != KLOG_OK || klog_config_close(create.config) != KLOG_OK
           || klog_manager_close(manager, 0, -1, &err) != KLOG_OK;
}
