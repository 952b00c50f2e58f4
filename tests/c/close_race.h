/*
 * Threads that make every call while their manager is closed: `close_race` of tests/scenarios/README.md.
 */
#ifndef KLOG_TESTS_CLOSE_RACE_H
#define KLOG_TESTS_CLOSE_RACE_H

#include "concurrent.h"

#define ACKNOWLEDGED 4096

/* What the threads of a round work with. */
typedef struct {
    klog_manager manager;
    klog_log log, compacted;
    klog_appender appender;
    klog_waiter waiter;
    klog_events events;
    /* How many appends were acknowledged, by all threads. */
    int64_t appends;
} race;

/* A thread of a round, and the offsets that it was told of: there lies "NUMBER.INDEX". */
typedef struct {
    race *all;
    int number, count;
    int64_t offsets[ACKNOWLEDGED];
    uint64_t random;
    klog_cursor cursor;
    char value[32];
    klog_record record;
} racer;

/* Answers that are as good as KLOG_OK, up to a 0. */
typedef klog_status allowed[4];

static klog_status told(racer *self, klog_status status, int64_t offset) {
    if (status == KLOG_OK) {
        self->offsets[self->count++] = offset;
        __atomic_add_fetch(&self->all->appends, 1, __ATOMIC_SEQ_CST);
    }
    return status;
}

static klog_status append_array(racer *self) {
    klog_append_result out = KLOG_INIT(klog_append_result);
    klog_status status = klog_append(self->all->log, &self->record, 1, NULL, &out, NULL);
    return told(self, status, out.first_offset);
}

static klog_status append_one(racer *self) {
    int64_t offset = -1;
    klog_status status = klog_append_one(self->all->log, NULL, 0, self->value, strlen(self->value), T0, &offset, NULL);
    return told(self, status, offset);
}

static klog_status append_batch(racer *self) {
    klog_append_result out = KLOG_INIT(klog_append_result);
    char batch[512];
    size_t size;
    MUST(klog_encode(&self->record, 1, NULL, 0, batch, sizeof batch, &size, &err));
    klog_status status = klog_append_batches(self->all->log, batch, size, NULL, &out, NULL);
    return told(self, status, out.first_offset);
}

static klog_status append_to_many(racer *self) {
    klog_append_item items[2];
    klog_record keyed = self->record;
    klog_status status;
    keyed.key = "key";
    keyed.key_len = 3;
    memset(items, 0, sizeof items);
    items[0].log = self->all->log;
    items[0].records = &self->record;
    items[1].log = self->all->compacted;
    items[1].records = &keyed;
    items[0].count = items[1].count = 1;
    status = klog_append_many(self->all->manager, items, 2, NULL, NULL);
    /* One may be appended although the other is not; if the call itself was refused no item is written. */
    if (status == KLOG_OK || (items[0].status == KLOG_OK && items[1].status != KLOG_OK)) {
        told(self, KLOG_OK, items[0].first_offset);
    }
    return status;
}

static klog_status through_the_appender(racer *self) {
    klog_append_result out = KLOG_INIT(klog_append_result);
    uint64_t ticket;
    klog_status status = klog_appender_add(self->all->appender, &self->record, 1, -1, &ticket, NULL);
    if (status != KLOG_OK) {
        return status;
    }
    status = klog_appender_wait(self->all->appender, ticket, -1, (klog_cancel){0}, &out, NULL);
    return told(self, status, out.first_offset);
}

static klog_status flush_appender(racer *self) { return klog_appender_flush(self->all->appender, -1, NULL); }

static klog_status short_appender(racer *self) {
    klog_appender appender;
    uint64_t ticket;
    klog_status status = klog_appender_open(self->all->compacted, NULL, &appender, NULL);
    if (status == KLOG_OK) {
        klog_record record = self->record;
        record.key = "key";
        record.key_len = 3;
        status = klog_appender_add(appender, &record, 1, 0, &ticket, NULL);
        klog_appender_close(appender, status == KLOG_OK ? 0 : KLOG_CLOSE_DISCARD, NULL);
    }
    return status;
}

static klog_status read_batches(racer *self) {
    char buffer[1024];
    klog_read_result out = KLOG_INIT(klog_read_result);
    return klog_read(self->all->log, 0, NULL, buffer, sizeof buffer, &out, NULL);
}

/* For what never comes: only the close ends it. */
static klog_status read_for_ever(racer *self) {
    klog_read_options options = KLOG_INIT(klog_read_options);
    klog_read_result out = KLOG_INIT(klog_read_result);
    options.timeout_ms = -1;
    options.min_bytes = UINT64_C(1) << 40;
    return klog_read(self->all->log, 0, &options, NULL, 0, &out, NULL);
}

static klog_status wait_for_ever(racer *self) {
    klog_wait_options options = KLOG_INIT(klog_wait_options);
    options.offset = INT64_C(1) << 40;
    options.timeout_ms = -1;
    return klog_wait(self->all->log, &options, NULL, NULL);
}

static klog_status await_for_ever(racer *self) {
    return klog_clean_await(self->all->compacted, INT64_C(1) << 40, -1, (klog_cancel){0}, NULL);
}

static klog_status wait_shortly(racer *self) {
    klog_wait_options options = KLOG_INIT(klog_wait_options);
    int64_t end;
    klog_status status = klog_log_end_offset(self->all->log, &end);
    options.offset = end;
    options.timeout_ms = 1;
    options.kind = (uint32_t)(next_random(&self->random) % 4);
    return status != KLOG_OK ? status : klog_wait(self->all->log, &options, NULL, NULL);
}

static klog_status wait_cancelled(racer *self) {
    klog_wait_options options = KLOG_INIT(klog_wait_options);
    klog_status status;
    MUST(klog_cancel_create(&options.cancel, &err));
    MUST(klog_cancel_fire(options.cancel));
    options.offset = INT64_C(1) << 40;
    options.timeout_ms = -1;
    status = klog_wait(self->all->log, &options, NULL, NULL);
    MUST(klog_cancel_close(options.cancel));
    return status;
}

static klog_status arm(racer *self) {
    klog_wait_options options = KLOG_INIT(klog_wait_options);
    options.offset = INT64_C(1) << 40;
    options.timeout_ms = (int64_t)(next_random(&self->random) % 3) - 1;
    return klog_waiter_arm(self->all->waiter, self->all->log, &options, 7, NULL);
}

static klog_status poll_ready(racer *self) {
    klog_ready ready[4];
    size_t count;
    return klog_waiter_poll(self->all->waiter, ready, 4, &count, 1, NULL);
}

static klog_status poll_events(racer *self) {
    char lines[4096];
    return klog_events_poll(self->all->events, lines, sizeof lines, NULL, 1, (klog_cancel){0}, NULL);
}

static klog_status short_waiter(racer *self) {
    klog_waiter waiter;
    klog_status status = klog_waiter_open(self->all->manager, &waiter, NULL, NULL);
    return status != KLOG_OK ? status : klog_waiter_close(waiter);
}

static klog_status next_of_cursor(racer *self) {
    klog_record records[8];
    klog_read_result out = KLOG_INIT(klog_read_result);
    return klog_cursor_next(self->cursor, records, 8, &out, NULL);
}

static klog_status next_packed(racer *self) {
    char buffer[4096];
    klog_read_result out = KLOG_INIT(klog_read_result);
    return klog_cursor_next_packed(self->cursor, buffer, sizeof buffer, &out, NULL);
}

static klog_status seek(racer *self) { return klog_cursor_seek(self->cursor, 0, NULL); }

static klog_status short_view(racer *self) {
    klog_view view;
    klog_view_info info = KLOG_INIT(klog_view_info);
    klog_status status = klog_view_open(self->all->log, 0, NULL, &view, &info, NULL);
    return status != KLOG_OK ? status : klog_view_close(view);
}

static klog_status short_log(racer *self) {
    klog_log log;
    klog_status status = klog_log_open(self->all->manager, "race", KLOG_NTS, 0, NULL, &log, NULL);
    return status != KLOG_OK ? status : klog_log_close(log);
}

static klog_status end_offset(racer *self) {
    int64_t end;
    return klog_log_end_offset(self->all->log, &end);
}

static klog_status look(racer *self) {
    klog_log_info info = KLOG_INIT(klog_log_info);
    return klog_log_get_info(self->all->log, &info, NULL);
}

static klog_status look_up(racer *self) {
    klog_timestamp_offset found = KLOG_INIT(klog_timestamp_offset);
    return klog_offset_for_timestamp(self->all->log, T0, &found, NULL);
}

static klog_status look_around(racer *self) {
    klog_manager_info info = KLOG_INIT(klog_manager_info);
    uint64_t values[256];
    size_t count;
    klog_status status = klog_manager_get_info(self->all->manager, &info, NULL);
    return status != KLOG_OK ? status : klog_metrics_read(self->all->manager, (klog_log){0}, values, 256, &count, NULL);
}

static klog_status flush(racer *self) { return klog_flush(self->all->log, -1, 0, NULL); }
static klog_status flush_all(racer *self) { return klog_flush_all(self->all->manager, 0, NULL); }
static klog_status roll(racer *self) { return klog_roll(self->all->log, NULL, NULL); }
static klog_status delete_nothing(racer *self) { return klog_delete_records(self->all->log, 0, NULL, NULL); }
static klog_status cut_nothing(racer *self) { return klog_truncate_to(self->all->log, INT64_C(1) << 40, NULL, NULL); }
static klog_status retain(racer *self) { return klog_retain(self->all->manager, self->all->log, 0, NULL, NULL); }
static klog_status tick(racer *self) { return klog_tick(self->all->manager, -1, 0, NULL, NULL); }
static klog_status pause(racer *self) {
    klog_status status = klog_clean_pause(self->all->compacted, NULL);
    return status != KLOG_OK ? status : klog_clean_resume(self->all->compacted, NULL);
}
static klog_status checkpoint(racer *self) {
    return klog_checkpoint(self->all->manager, KLOG_CHECKPOINT_RECOVERY_POINT, NULL);
}

static klog_status clean(racer *self) {
    klog_clean_options options = KLOG_INIT(klog_clean_options);
    options.flags = KLOG_CLEAN_ROLL;
    return klog_clean(self->all->manager, self->all->compacted, &options, NULL, NULL);
}

static klog_status clean_progress(racer *self) {
    klog_clean_progress progress = KLOG_INIT(klog_clean_progress);
    return klog_clean_get_progress(self->all->compacted, &progress, NULL);
}

static klog_status configure(racer *self) {
    klog_config config;
    klog_status status;
    MUST(klog_config_create(KLOG_CONFIG_TOPIC, &config, &err));
    MUST(klog_config_set(config, "segment.ms", KLOG_NTS, "100000", KLOG_NTS, &err));
    status = klog_log_set_config(self->all->log, config, NULL);
    MUST(klog_config_close(config));
    return status;
}

static const struct {
    klog_status (*make)(racer *);
    const char *name;
    allowed also;
    int is_endless;
} calls[] = {
#define CALL(function) function, #function
    {CALL(append_array), {0}, 0},
    {CALL(append_one), {0}, 0},
    {CALL(append_batch), {0}, 0},
    {CALL(append_to_many), {0}, 0},
    {CALL(through_the_appender), {0}, 0},
    {CALL(through_the_appender), {0}, 0},
    {CALL(flush_appender), {0}, 0},
    {CALL(short_appender), {0}, 0},
    {CALL(read_batches), {KLOG_ERR_BUFFER_TOO_SMALL}, 0},
    {CALL(wait_shortly), {KLOG_ERR_TIMED_OUT}, 0},
    {CALL(wait_cancelled), {KLOG_ERR_CANCELLED}, 0},
    {CALL(arm), {0}, 0},
    {CALL(poll_ready), {KLOG_ERR_TIMED_OUT}, 0},
    {CALL(poll_events), {KLOG_ERR_TIMED_OUT}, 0},
    {CALL(short_waiter), {0}, 0},
    {CALL(next_of_cursor), {KLOG_ERR_END}, 0},
    {CALL(next_packed), {KLOG_ERR_END}, 0},
    {CALL(seek), {0}, 0},
    {CALL(short_view), {0}, 0},
    {CALL(short_log), {0}, 0},
    {CALL(end_offset), {0}, 0},
    {CALL(look), {0}, 0},
    {CALL(look_up), {0}, 0},
    {CALL(look_around), {0}, 0},
    {CALL(flush), {0}, 0},
    {CALL(flush_all), {0}, 0},
    {CALL(roll), {0}, 0},
    {CALL(delete_nothing), {0}, 0},
    {CALL(cut_nothing), {0}, 0},
    {CALL(retain), {0}, 0},
    {CALL(tick), {0}, 0},
    {CALL(pause), {0}, 0},
    {CALL(checkpoint), {0}, 0},
    {CALL(clean), {KLOG_ERR_BUSY, KLOG_ERR_CLEAN_PAUSED, KLOG_ERR_CLEAN_ABORTED}, 0},
    {CALL(clean_progress), {0}, 0},
    {CALL(configure), {0}, 0},
    {CALL(read_for_ever), {0}, 1},
    {CALL(wait_for_ever), {0}, 1},
    {CALL(await_for_ever), {0}, 1},
};

static void *work_until_closed(void *of) {
    racer *self = of;
    int count = (int)(sizeof calls / sizeof *calls);
    while (self->count < ACKNOWLEDGED) {
        int which = (int)(next_random(&self->random) % (uint64_t)count);
        klog_status status;
        int is_allowed;
        /* Who waits for ever works no more: rare, and the first two never do. */
        if (calls[which].is_endless && (self->number < 2 || next_random(&self->random) % 8 != 0)) {
            continue;
        }
        snprintf(self->value, sizeof self->value, "%d.%d", self->number, self->count);
        memset(&self->record, 0, sizeof self->record);
        self->record.value = self->value;
        self->record.value_len = strlen(self->value);
        self->record.timestamp_ms = T0;
        self->record.flags = KLOG_RECORD_HAS_TIMESTAMP;
        status = calls[which].make(self);
        if (status == KLOG_ERR_CLOSED || status == KLOG_ERR_STALE_HANDLE) {
            return NULL;
        }
        is_allowed = status == KLOG_OK && !calls[which].is_endless;
        for (int i = 0; calls[which].also[i] != 0; i++) {
            is_allowed |= status == calls[which].also[i];
        }
        if (!is_allowed) FAIL("%s: %s", calls[which].name, klog_status_name(status));
    }
    return NULL;
}

/* Every append that was acknowledged is where it was said to be, in a log that was closed in order. */
static void check_appends(const char *dir, const racer *racers, int threads) {
    klog_manager manager = open_manager(dir);
    klog_manager_info info = KLOG_INIT(klog_manager_info);
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_log log = open_log(manager, "race", NULL, 0);
    klog_record record;
    klog_cursor cursor;
    MUST(klog_manager_get_info(manager, &info, &err));
    if (info.segments_recovered != 0) FAIL("%" PRIu64 " segments were recovered", info.segments_recovered);
    MUST(klog_cursor_open(log, 0, NULL, &cursor, &err));
    for (int t = 0; t < threads; t++) {
        for (int i = 0; i < racers[t].count; i++) {
            char value[32];
            int len = snprintf(value, sizeof value, "%d.%d", t, i);
            MUST(klog_cursor_seek(cursor, racers[t].offsets[i], &err));
            MUST(klog_cursor_next(cursor, &record, 1, &result, &err));
            if (record.offset != racers[t].offsets[i] || record.value_len != (uint64_t)len
                || memcmp(record.value, value, (size_t)len) != 0) {
                FAIL("%s is not at %" PRId64 " but %.*s", value, racers[t].offsets[i], (int)record.value_len,
                     (const char *)record.value);
            }
        }
    }
    MUST(klog_cursor_close(cursor));
    MUST(klog_log_delete(log, 0, &err));
    MUST(klog_log_close(log));
    MUST(klog_manager_close(manager, 0, -1, &err));
}

static void close_race(const char *dir, int threads, int rounds, uint64_t seed) {
    char compact[] = "cleanup.policy=compact", *pairs[] = {compact};
    racer *racers = calloc((size_t)threads, sizeof *racers);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    uint64_t random = seed;
    for (int round = 0; round < rounds; round++) {
        race all;
        int64_t enough = (int64_t)(next_random(&random) % 40);
        memset(&all, 0, sizeof all);
        all.manager = open_manager(dir);
        all.log = open_log(all.manager, "race", NULL, 0);
        all.compacted = open_log(all.manager, "compacted", pairs, 1);
        MUST(klog_appender_open(all.log, NULL, &all.appender, &err));
        MUST(klog_waiter_open(all.manager, &all.waiter, NULL, &err));
        MUST(klog_events_open(all.manager, 0, 0, &all.events, NULL, &err));
        for (int t = 0; t < threads; t++) {
            racers[t].all = &all;
            racers[t].number = t;
            racers[t].count = 0;
            racers[t].random = next_random(&random);
            MUST(klog_cursor_open(all.log, 0, NULL, &racers[t].cursor, &err));
            start(&ids[t], work_until_closed, &racers[t]);
        }
        while (__atomic_load_n(&all.appends, __ATOMIC_SEQ_CST) < enough) {
            sched_yield();
        }
        MUST(klog_manager_close(all.manager, 0, -1, &err));
        for (int t = 0; t < threads; t++) {
            pthread_join(ids[t], NULL);
            MUST(klog_cursor_close(racers[t].cursor));
        }
        klog_appender_close(all.appender, KLOG_CLOSE_DISCARD, NULL);
        MUST(klog_waiter_close(all.waiter));
        MUST(klog_events_close(all.events));
        MUST(klog_log_close(all.log));
        MUST(klog_log_close(all.compacted));
        check_appends(dir, racers, threads);
    }
    free(racers);
    free(ids);
}

#endif
