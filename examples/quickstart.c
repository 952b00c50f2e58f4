/*
 * klog in one program: opens a Kafka data directory, lists its logs, appends 10,000 records, reads them back, looks an
 * offset up by time, closes, opens again, and finds everything as it was.
 *
 * Usage: quickstart DIR    (a copy of a broker's log directory: the program writes into it)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog.h"

#define RECORDS 10000
#define BATCH 100
#define BASE_TIME INT64_C(1700000000000)

static klog_error err = KLOG_INIT(klog_error);

/* Ends the program with what klog says about a failure. */
static void must(klog_status status, const char *what) {
    if (status == KLOG_OK) {
        return;
    }
    fprintf(stderr, "%s: %s: %s\n", what, klog_status_name(status), err.message);
    exit(1);
}

static void require(int condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "quickstart: %s\n", what);
        exit(1);
    }
}

static klog_manager open_dir(const char *dir) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_manager manager;
    options.dirs = &dir;
    options.dir_count = 1;
    must(klog_manager_open(&options, &manager, &err), "open");
    return manager;
}

/* Counts the records from an offset to the log end, and the bytes of their keys, values and headers. */
static uint64_t count_records(klog_log log, int64_t from, uint64_t *bytes) {
    static klog_record records[1000];
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_cursor cursor;
    uint64_t count = 0;
    klog_status status;
    must(klog_cursor_open(log, from, NULL, &cursor, &err), "cursor");
    while ((status = klog_cursor_next(cursor, records, 1000, &result, &err)) == KLOG_OK) {
        for (uint32_t i = 0; i < result.records; i++) {
            *bytes += records[i].key_len + records[i].value_len;
            for (uint64_t h = 0; h < records[i].header_count; h++) {
                *bytes += records[i].headers[h].key_len + records[i].headers[h].value_len;
            }
        }
        count += result.records;
    }
    if (status != KLOG_ERR_END) {
        must(status, "next");
    }
    klog_cursor_close(cursor);
    return count;
}

/* A line for each log of the directory. */
static void list_logs(klog_manager manager) {
    size_t size = 0;
    char *list;
    klog_status status = klog_manager_list(manager, NULL, 0, &size, &err);
    require(status == KLOG_ERR_BUFFER_TOO_SMALL, "the list has a size");
    list = malloc(size);
    require(list != NULL, "memory for the list");
    must(klog_manager_list(manager, list, size, NULL, &err), "list");
    for (char *line = strtok(list, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *dash;
        klog_log log;
        klog_log_info info = KLOG_INIT(klog_log_info);
        uint64_t bytes = 0, count;
        *strchr(line, '\t') = '\0';
        dash = strrchr(line, '-');
        must(klog_log_open(manager, line, (size_t)(dash - line), atoi(dash + 1), NULL, &log, &err), line);
        must(klog_log_get_info(log, &info, &err), line);
        count = count_records(log, info.log_start_offset, &bytes);
        printf("%s offsets=%" PRId64 "..%" PRId64 " records=%" PRIu64 "\n", line, info.log_start_offset,
               info.log_end_offset, count);
        klog_log_close(log);
    }
    free(list);
}

/* Appends RECORDS keyed records with headers, every codec in turn. */
static void append_records(klog_log log) {
    static char keys[BATCH][16], values[BATCH][128];
    static klog_record records[BATCH];
    static klog_header headers[BATCH];
    for (int n = 0; n < RECORDS; n += BATCH) {
        klog_append_options options = KLOG_INIT(klog_append_options);
        klog_append_result result = KLOG_INIT(klog_append_result);
        options.compression = KLOG_COMPRESSION_NONE + (n / BATCH) % 5;
        for (int i = 0; i < BATCH; i++) {
            klog_record *record = &records[i];
            memset(record, 0, sizeof *record);
            headers[i].key = "source";
            headers[i].key_len = 6;
            headers[i].value = "quickstart";
            headers[i].value_len = 10;
            record->key = keys[i];
            record->key_len = (uint64_t)snprintf(keys[i], sizeof keys[i], "key-%d", (n + i) % 500);
            record->value = values[i];
            record->value_len =
                (uint64_t)snprintf(values[i], sizeof values[i], "{\"number\":%d,\"text\":\"the record %d\"}", n + i, n + i);
            record->headers = &headers[i];
            record->header_count = 1;
            record->timestamp_ms = BASE_TIME + n + i;
            record->flags = KLOG_RECORD_HAS_TIMESTAMP;
        }
        must(klog_append(log, records, BATCH, &options, &result, &err), "append");
        require(result.last_offset - result.first_offset == BATCH - 1, "offsets follow each other");
    }
    must(klog_flush(log, -1, 0, &err), "flush");
}

/* Reads whole batches from an offset on, as a broker would send them. */
static uint64_t read_batches(klog_log log, int64_t from) {
    static unsigned char buffer[64 * 1024];
    uint64_t bytes = 0;
    for (;;) {
        klog_read_result result = KLOG_INIT(klog_read_result);
        must(klog_read(log, from, NULL, buffer, sizeof buffer, &result, &err), "read");
        if (result.bytes == 0) {
            return bytes;
        }
        bytes += result.bytes;
        from = result.next_offset;
    }
}

int main(int argc, char **argv) {
    klog_manager manager;
    klog_log log;
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_log_info info = KLOG_INIT(klog_log_info);
    klog_timestamp_offset found = KLOG_INIT(klog_timestamp_offset);
    uint64_t bytes = 0, bytes_again = 0, raw;
    int64_t first, middle;

    if (argc != 2) {
        fprintf(stderr, "usage: %s DIR\n", argv[0]);
        return 2;
    }
    must(klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, &err), "header and library");

    manager = open_dir(argv[1]);
    list_logs(manager);

    create.flags = KLOG_LOG_CREATE;
    must(klog_log_open(manager, "quickstart", KLOG_NTS, 0, &create, &log, &err), "create");
    must(klog_log_end_offset(log, &first), "end offset");
    append_records(log);

    middle = first + RECORDS / 2;
    require(count_records(log, middle, &bytes) == RECORDS / 2, "the cursor gives the second half");
    raw = read_batches(log, middle);
    must(klog_offset_for_timestamp(log, BASE_TIME + 1234, &found, &err), "offset for a time");
    require(found.offset == first + 1234, "the time leads to its record");
    must(klog_log_get_info(log, &info, &err), "info");
    printf("appended %d records, %" PRIu64 " bytes in %" PRIu64 " segment(s); %" PRIu64 " bytes of batches from the middle on\n",
           RECORDS, info.bytes, info.segments, raw);
    must(klog_manager_close(manager, 0, -1, &err), "close");
    require(klog_log_end_offset(log, &first) == KLOG_ERR_CLOSED, "a log of a closed manager says so");
    klog_log_close(log);

    manager = open_dir(argv[1]);
    must(klog_log_open(manager, "quickstart", KLOG_NTS, 0, NULL, &log, &err), "open again");
    require(count_records(log, middle, &bytes_again) == RECORDS / 2 && bytes_again == bytes, "the same records again");
    require(read_batches(log, middle) == raw, "the same batches again");
    klog_log_close(log);
    must(klog_manager_close(manager, 0, -1, &err), "close again");
    puts("closed, opened again, read the same");
    return 0;
}
