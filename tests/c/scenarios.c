/*
 * Runs a scenario of tests/scenarios over the C interface. Usage: scenarios FILE.scn DIR. Each step whose answer differs is
 * told; the end is "N steps, M wrong".
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "klog.h"

#define T0 INT64_C(1000000000000)
#define WORDS 64
#define RECORDS 32

static klog_error err = KLOG_INIT(klog_error);
static klog_manager manager;
static klog_log log_now;
static const char *dir;
static char topic[64];
/* The keys of the topic, with blanks between. */
static char keys[512];
static int64_t now = T0;
/* What a step answers. */
static char answer[8192];
/* Values that are written short live here until the next step. */
static char room[65536];
static size_t room_used;

static void say(const char *format, ...) {
    size_t used = strlen(answer);
    va_list list;
    va_start(list, format);
    vsnprintf(answer + used, sizeof answer - used, format, list);
    va_end(list);
}

static void say_time(const char *before, int64_t time) {
    if (time == T0) {
        say("%st0", before);
    } else if (time > T0 - 1000000 && time < T0 + INT64_C(1000000000)) {
        say("%st0%+" PRId64, before, time - T0);
    } else {
        say("%s%" PRId64, before, time);
    }
}

static int64_t time_of(const char *text) {
    if (strncmp(text, "t0", 2) == 0) {
        return T0 + (text[2] ? strtoll(text + 2, NULL, 10) : 0);
    }
    return strtoll(text, NULL, 10);
}

static int is_ok(klog_status status) {
    if (status != KLOG_OK) {
        const char *name = klog_status_name(status);
        say("%s", strncmp(name, "KLOG_ERR_", 9) == 0 ? name + 9 : name);
    }
    return status == KLOG_OK;
}

/* A value as it is written: bare, null, x'hex', c*N. */
static void value_of(const char *text, const void **data, uint64_t *len) {
    char *to = room + room_used;
    const char *star = strchr(text, '*');
    *len = 0;
    if (strcmp(text, "null") == 0) {
        *data = NULL;
        return;
    }
    *data = to;
    if (strncmp(text, "x'", 2) == 0) {
        unsigned byte;
        for (text += 2; sscanf(text, "%2x", &byte) == 1; text += 2) {
            to[(*len)++] = (char)byte;
        }
    } else if (star != NULL) {
        *len = strtoull(star + 1, NULL, 10);
        memset(to, text[0], *len);
    } else {
        *len = strlen(text);
        memcpy(to, text, *len);
    }
    room_used += *len + 1;
}

/* KEY=VALUE@TIME;NAME=VALUE */
static void record_of(char *text, klog_record *record, klog_header *headers) {
    char *header = strchr(text, ';'), *at, *equals;
    memset(record, 0, sizeof *record);
    if (header != NULL) {
        *header++ = 0;
        equals = strchr(header, '=');
        *equals = 0;
        headers->key = header;
        headers->key_len = strlen(header);
        value_of(equals + 1, &headers->value, &headers->value_len);
        record->headers = headers;
        record->header_count = 1;
    }
    at = strrchr(text, '@');
    if (at != NULL) {
        *at = 0;
    }
    equals = strchr(text, '=');
    *equals = 0;
    value_of(text, &record->key, &record->key_len);
    value_of(equals + 1, &record->value, &record->value_len);
    record->timestamp_ms = at != NULL ? time_of(at + 1) : now;
    record->flags = KLOG_RECORD_HAS_TIMESTAMP;
}

static void say_bytes(const void *data, uint64_t len) {
    if (data == NULL) {
        say("null");
    } else {
        say("%.*s", (int)len, (const char *)data);
    }
}

static int64_t big_endian(const unsigned char *bytes, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; i++) {
        value = value << 8 | bytes[i];
    }
    return count == 8 ? (int64_t)value : (int32_t)value;
}

static void append(char **words, int count, klog_append_options *options) {
    klog_record records[RECORDS];
    klog_header headers[RECORDS];
    klog_append_result result = KLOG_INIT(klog_append_result);
    klog_record_error refused[RECORDS];
    memset(refused, 0xff, sizeof refused);
    for (int i = 0; i < count; i++) {
        record_of(words[i], &records[i], &headers[i]);
    }
    options->record_errors = refused;
    options->record_errors_cap = RECORDS;
    if (!is_ok(klog_append(log_now, records, (size_t)count, options, &result, &err))) {
        for (int i = 0; i < RECORDS && refused[i].record_index >= 0; i++) {
            say(i == 0 ? " records=%d" : ",%d", refused[i].record_index);
        }
        return;
    }
    say("%" PRId64 "..%" PRId64 " bytes=%" PRIu64, result.first_offset, result.last_offset, result.bytes_appended);
    say_time(" max_ts=", result.max_timestamp);
    say_time(" append_time=", result.log_append_time_ms);
    say(" start=%" PRId64, result.log_start_offset);
}

static void set(klog_config config, const char *key, const char *value) {
    is_ok(klog_config_set(config, key, KLOG_NTS, value, KLOG_NTS, &err));
}

static void open_manager(void) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    /* Nothing is done by time: each step asks for what it wants. */
    is_ok(klog_config_create(KLOG_CONFIG_BROKER, &options.config, &err));
    set(options.config, "log.initial.task.delay.ms", "9223372036854775807");
    options.dirs = &dir;
    options.dir_count = 1;
    options.flags = KLOG_OPEN_MANUAL_CLOCK;
    options.now_ms = now;
    is_ok(klog_manager_open(&options, &manager, &err));
    is_ok(klog_config_close(options.config));
}

/* Opens the log of the topic, made if need be, with the keys that the topic was given. */
static void open_topic(void) {
    klog_log_options options = KLOG_INIT(klog_log_options);
    char keys_left[sizeof keys], *key;
    memcpy(keys_left, keys, sizeof keys);
    is_ok(klog_config_create(KLOG_CONFIG_TOPIC, &options.config, &err));
    for (key = strtok(keys_left, " "); key != NULL; key = strtok(NULL, " ")) {
        char *equals = strchr(key, '=');
        *equals = 0;
        set(options.config, key, equals + 1);
    }
    options.flags = KLOG_LOG_CREATE;
    is_ok(klog_log_open(manager, topic, KLOG_NTS, 0, &options, &log_now, &err));
    is_ok(klog_config_close(options.config));
}

static void read_batches(int64_t from, uint64_t max_bytes) {
    static unsigned char buffer[1 << 20];
    klog_read_options options = KLOG_INIT(klog_read_options);
    klog_read_result result = KLOG_INIT(klog_read_result);
    options.max_bytes = max_bytes;
    if (!is_ok(klog_read(log_now, from, &options, buffer, sizeof buffer, &result, &err))) {
        return;
    }
    if (result.bytes == 0) {
        say("empty");
        return;
    }
    say("bytes=%" PRIu64 " ", result.bytes);
    for (uint64_t at = 0; at < result.bytes;) {
        int64_t base = big_endian(buffer + at, 8);
        say("%s%" PRId64 "..%" PRId64, at == 0 ? "" : ",", base, base + big_endian(buffer + at + 23, 4));
        at += 12 + (uint64_t)big_endian(buffer + at + 8, 4);
    }
}

static void scan(int64_t from) {
    klog_record records[RECORDS];
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_cursor cursor;
    klog_status status;
    int count = 0;
    if (!is_ok(klog_cursor_open(log_now, from, NULL, &cursor, &err))) {
        return;
    }
    while ((status = klog_cursor_next(cursor, records, RECORDS, &result, &err)) == KLOG_OK) {
        for (uint32_t i = 0; i < result.records; i++, count++) {
            say("%s%" PRId64 ":", count == 0 ? "" : " ", records[i].offset);
            say_bytes(records[i].key, records[i].key_len);
            say("=");
            say_bytes(records[i].value, records[i].value_len);
            say_time("@", records[i].timestamp_ms);
            for (uint64_t h = 0; h < records[i].header_count; h++) {
                say(";%.*s=", (int)records[i].headers[h].key_len, records[i].headers[h].key);
                say_bytes(records[i].headers[h].value, records[i].headers[h].value_len);
            }
        }
    }
    if (status != KLOG_ERR_END) {
        is_ok(status);
    } else if (count == 0) {
        say("empty");
    }
    klog_cursor_close(cursor);
}

static void find(int64_t time) {
    klog_timestamp_offset found = KLOG_INIT(klog_timestamp_offset);
    if (!is_ok(klog_offset_for_timestamp(log_now, time, &found, &err))) {
        return;
    }
    if (found.offset < 0) {
        say("none");
        return;
    }
    say("%" PRId64, found.offset);
    say_time("@", found.timestamp_ms);
    say(" epoch=%d", found.leader_epoch);
}

static void log_path(char *path, size_t size, const char *name) {
    snprintf(path, size, "%s/%s-0/%s", dir, topic, name);
}

static int ends_with(const char *name, const char *ending) {
    size_t len = strlen(name), end = strlen(ending);
    return len > end && strcmp(name + len - end, ending) == 0;
}

/* Goes through the files of the log: tells the sizes of its segments, or removes its indexes. */
static void files(int removes_indexes) {
    char path[600];
    struct dirent **entries;
    int count, told = 0;
    log_path(path, sizeof path, "");
    count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        log_path(path, sizeof path, name);
        if (removes_indexes && (ends_with(name, "index"))) {
            unlink(path);
        } else if (!removes_indexes && ends_with(name, ".log")) {
            FILE *file = fopen(path, "rb");
            fseek(file, 0, SEEK_END);
            say("%s%lld:%ld", told++ == 0 ? "" : " ", strtoll(name, NULL, 10), ftell(file));
            fclose(file);
        }
        free(entries[i]);
    }
    free(entries);
}

static void add_bytes(const char *base, const char *bytes) {
    char name[40], path[600];
    const void *data;
    uint64_t len;
    FILE *file;
    snprintf(name, sizeof name, "%020lld.log", strtoll(base, NULL, 10));
    log_path(path, sizeof path, name);
    value_of(bytes, &data, &len);
    file = fopen(path, "ab");
    fwrite(data, 1, len, file);
    fclose(file);
}

/* A ready batch with one byte of its last record changed: made in a log of its own. */
static void append_spoiled(char **words, int count) {
    static unsigned char batch[4096];
    klog_append_options options = KLOG_INIT(klog_append_options);
    klog_append_result result = KLOG_INIT(klog_append_result);
    klog_read_result found = KLOG_INIT(klog_read_result);
    klog_log wanted = log_now;
    klog_log_options create = KLOG_INIT(klog_log_options);
    create.flags = KLOG_LOG_CREATE;
    is_ok(klog_log_open(manager, "scratch", KLOG_NTS, 0, &create, &log_now, &err));
    append(words, count, &options);
    answer[0] = 0;
    is_ok(klog_read(log_now, 0, NULL, batch, sizeof batch, &found, &err));
    klog_log_close(log_now);
    log_now = wanted;
    batch[found.bytes - 2] ^= 1;
    if (is_ok(klog_append_batches(log_now, batch, found.bytes, NULL, &result, &err))) {
        say("%" PRId64 "..%" PRId64, result.first_offset, result.last_offset);
    }
}

static void clean(int rolls) {
    klog_clean_options options = KLOG_INIT(klog_clean_options);
    klog_clean_result result = KLOG_INIT(klog_clean_result);
    options.flags = rolls ? KLOG_CLEAN_ROLL : 0;
    if (is_ok(klog_clean(manager, log_now, &options, &result, &err))) {
        say("first_dirty=%" PRId64 " read=%" PRIu64 " kept=%" PRIu64 " bytes=%" PRIu64 "->%" PRIu64,
            result.first_dirty_offset, result.records_read, result.records_kept, result.bytes_read,
            result.bytes_written);
    }
}

static int step(char **words, int count) {
    const char *verb = words[0];
    klog_append_options options = KLOG_INIT(klog_append_options);
    klog_retain_result retained = KLOG_INIT(klog_retain_result);
    int64_t offset = 0;
    uint32_t truncated = 0;
    if (strcmp(verb, "topic") == 0) {
        snprintf(topic, sizeof topic, "%s", words[1]);
        keys[0] = 0;
        for (int i = 2; i < count; i++) {
            size_t used = strlen(keys);
            snprintf(keys + used, sizeof keys - used, "%s ", words[i]);
        }
        open_topic();
    } else if (strcmp(verb, "now") == 0) {
        now = time_of(words[1]);
        is_ok(klog_tick(manager, now, 0, NULL, &err));
    } else if (strcmp(verb, "append") == 0) {
        append(words + 1, count - 1, &options);
    } else if (strcmp(verb, "append_none") == 0) {
        append(words + 1, 0, &options);
    } else if (strcmp(verb, "append_as") == 0) {
        options.flags = KLOG_APPEND_HAS_PRODUCER;
        options.producer_id = strtoll(words[1], NULL, 10);
        options.producer_epoch = atoi(words[2]);
        options.base_sequence = atoi(words[3]);
        append(words + 4, count - 4, &options);
    } else if (strcmp(verb, "append_spoiled") == 0) {
        append_spoiled(words + 1, count - 1);
    } else if (strcmp(verb, "read") == 0) {
        read_batches(strtoll(words[1], NULL, 10), count > 2 ? strtoull(words[2], NULL, 10) : 0);
    } else if (strcmp(verb, "scan") == 0) {
        scan(strtoll(words[1], NULL, 10));
    } else if (strcmp(verb, "find") == 0) {
        find(time_of(words[1]));
    } else if (strcmp(verb, "segments") == 0) {
        files(0);
    } else if (strcmp(verb, "drop_indexes") == 0) {
        files(1);
    } else if (strcmp(verb, "add_bytes") == 0) {
        add_bytes(words[1], words[2]);
    } else if (strcmp(verb, "end") == 0) {
        if (is_ok(klog_log_end_offset(log_now, &offset))) {
            say("%" PRId64, offset);
        }
    } else if (strcmp(verb, "roll") == 0) {
        if (is_ok(klog_roll(log_now, &offset, &err))) {
            say("%" PRId64, offset);
        }
    } else if (strcmp(verb, "retain") == 0) {
        if (is_ok(klog_retain(manager, log_now, 0, &retained, &err))) {
            say("deleted=%" PRIu64 " start=%" PRId64, retained.segments_deleted, retained.log_start_offset);
        }
    } else if (strcmp(verb, "delete_records") == 0) {
        if (is_ok(klog_delete_records(log_now, strtoll(words[1], NULL, 10), &offset, &err))) {
            say("start=%" PRId64, offset);
        }
    } else if (strcmp(verb, "truncate") == 0) {
        if (is_ok(klog_truncate_to(log_now, strtoll(words[1], NULL, 10), &truncated, &err))) {
            say(truncated ? "true" : "false");
        }
    } else if (strcmp(verb, "clean") == 0) {
        clean(count > 1);
    } else if (strcmp(verb, "close") == 0) {
        is_ok(klog_manager_close(manager, 0, -1, &err));
    } else if (strcmp(verb, "reopen") == 0) {
        char marker[600];
        snprintf(marker, sizeof marker, "%s/.kafka_cleanshutdown", dir);
        if (count > 1) {
            unlink(marker);
        }
        open_manager();
        open_topic();
    } else {
        return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    char line[4096];
    int number = 0, steps = 0, wrong = 0;
    FILE *file;
    if (argc != 3 || (file = fopen(argv[1], "r")) == NULL) {
        return 2;
    }
    dir = argv[2];
    open_manager();
    while (fgets(line, sizeof line, file) != NULL) {
        char *words[WORDS], *expected, *word;
        int count = 0;
        number++;
        line[strcspn(line, "#\n")] = 0;
        expected = strchr(line, '>');
        if (expected != NULL) {
            *expected++ = 0;
            expected += strspn(expected, " ");
        }
        for (word = strtok(line, " "); word != NULL && count < WORDS; word = strtok(NULL, " ")) {
            words[count++] = word;
        }
        if (count == 0) {
            continue;
        }
        answer[0] = 0;
        room_used = 0;
        steps++;
        if (!step(words, count)) {
            printf("line %d: no verb %s\n", number, words[0]);
            wrong++;
        } else if (expected == NULL ? strstr(answer, "..") == NULL && answer[0] != 0 : strcmp(answer, expected) != 0) {
            printf("line %d: %s: %s, expected %s\n", number, words[0], answer, expected == NULL ? "nothing" : expected);
            wrong++;
        }
    }
    fclose(file);
    klog_manager_close(manager, 0, -1, NULL);
    printf("%d steps, %d wrong\n", steps, wrong);
    return wrong != 0;
}
