/*
 * A program that does everything wrong: null pointers, wrong sizes, garbage handles, closed handles, children of a closed
 * manager. It must end with statuses only; valgrind and the sanitizers watch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

    /* The manager goes first, its children after it. */
    EXPECT(KLOG_OK, klog_log_close(log_again));
    EXPECT(KLOG_OK, klog_manager_close(manager, 0, -1, &err));
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
