/*
 * klog_pack.h against the library: what it packs is appended as it was meant, what a cursor packs it reads, and of broken buffers
 * it says so, or reads what the library reads. `pack DIR SEED`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "klog_pack.h"

static klog_error err = KLOG_INIT(klog_error);

static void die(const char *what, int line) {
    fprintf(stderr, "pack.c %d: %s: %s\n", line, what, err.message);
    exit(1);
}

#define MUST(call)                                                    \
    do {                                                              \
        klog_status must_ = (call);                                   \
        if (must_ != KLOG_OK) { die(klog_status_name(must_), __LINE__); } \
    } while (0)
#define CHECK(condition) do { if (!(condition)) { die(#condition, __LINE__); } } while (0)

static uint64_t state;

/* splitmix64 */
static uint64_t below(uint64_t bound) {
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % bound;
}

static int same_bytes(const void *a, uint64_t a_len, const void *b, uint64_t b_len) {
    return (a == NULL) == (b == NULL) && a_len == b_len && (a_len == 0 || memcmp(a, b, (size_t)a_len) == 0);
}

#define RECORDS 40
#define HEADERS 4

static char text[4096];
static klog_header headers[RECORDS][HEADERS];
static klog_record records[RECORDS];

/* Any part of the text, or nothing; sometimes null. */
static const void *some(uint64_t longest, int may_be_null, uint64_t *len) {
    *len = below(longest + 1);
    if (may_be_null && below(4) == 0) {
        *len = 0;
        return NULL;
    }
    return text + below(sizeof text - longest);
}

static void make_records(void) {
    int i;
    uint64_t h;
    for (i = 0; i < RECORDS; i++) {
        klog_record *record = &records[i];
        memset(record, 0, sizeof *record);
        record->key = some(20, 1, &record->key_len);
        record->value = some(300, 1, &record->value_len);
        record->header_count = below(HEADERS + 1);
        record->headers = headers[i];
        record->flags = KLOG_RECORD_HAS_TIMESTAMP;
        record->timestamp_ms = 1700000000000 + (int64_t)below(1000);
        for (h = 0; h < record->header_count; h++) {
            headers[i][h].key = some(10, 0, &headers[i][h].key_len);
            headers[i][h].value = some(30, 1, &headers[i][h].value_len);
        }
    }
}

static void check_same(const klog_record *wanted, klog_unpacked *entry) {
    klog_header header;
    uint64_t h;
    CHECK(entry->kind == KLOG_PACK_RECORD);
    CHECK(same_bytes(wanted->key, wanted->key_len, entry->record.key, entry->record.key_len));
    CHECK(same_bytes(wanted->value, wanted->value_len, entry->record.value, entry->record.value_len));
    CHECK(entry->record.timestamp_ms == wanted->timestamp_ms);
    CHECK(entry->record.header_count == wanted->header_count);
    for (h = 0; h < wanted->header_count; h++) {
        const klog_header *of = &wanted->headers[h];
        CHECK(klog_unpack_header(entry, &header) == 1);
        CHECK(same_bytes(of->key, of->key_len, header.key, header.key_len));
        CHECK(same_bytes(of->value, of->value_len, header.value, header.value_len));
    }
    CHECK(klog_unpack_header(entry, &header) == 0);
}

static unsigned char packed[65536], back[65536], batch[65536], broken[65536];

static size_t pack_all(void) {
    klog_packer packer;
    int i;
    CHECK(!klog_pack_begin(&packer, packed, KLOG_PACK_HEAD_BYTES - 1));
    CHECK(klog_pack_begin(&packer, packed, sizeof packed));
    for (i = 0; i < RECORDS; i++) {
        const size_t before = packer.used;
        packer.cap = before + klog_pack_bytes(&records[i]) - 1;
        CHECK(!klog_pack(&packer, &records[i]) && packer.used == before);
        packer.cap = sizeof packed;
        CHECK(klog_pack(&packer, &records[i]) && packer.used == before + klog_pack_bytes(&records[i]));
    }
    return klog_pack_end(&packer);
}

/* Packed and appended twice, in one batch each; the cursor gives the same, and tells of the batches. */
static void check_round_trip(klog_log log, size_t len) {
    klog_append_result appended = KLOG_INIT(klog_append_result);
    klog_read_options options = KLOG_INIT(klog_read_options);
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_unpacker unpacker;
    klog_unpacked entry;
    klog_cursor cursor;
    int64_t offset = 0;
    int round, told = 0;
    MUST(klog_append_packed(log, packed, len, NULL, &appended, &err));
    CHECK(appended.records == RECORDS && appended.first_offset == 0);
    MUST(klog_append_packed(log, packed, len, NULL, &appended, &err));
    options.flags = KLOG_READ_BATCH_INFO;
    MUST(klog_cursor_open(log, 0, &options, &cursor, &err));
    for (round = 0; offset < 2 * RECORDS; round++) {
        /* Buffers of all sizes: each record comes once, each batch is told of once. */
        const klog_status status = klog_cursor_next_packed(cursor, back, 100 + below(3000), &result, &err);
        if (status == KLOG_ERR_BUFFER_TOO_SMALL) {
            MUST(klog_cursor_next_packed(cursor, back, (size_t)result.bytes_needed, &result, &err));
            CHECK(result.records == 1);
        } else {
            MUST(status);
        }
        CHECK(klog_unpack_begin(&unpacker, back, (size_t)result.bytes));
        while (klog_unpack_next(&unpacker, &entry) == 1) {
            if (entry.kind == KLOG_PACK_BATCH) {
                CHECK(offset % RECORDS == 0 && entry.batch.base_offset == offset);
                CHECK(entry.batch.last_offset == offset + RECORDS - 1 && entry.batch.record_count == RECORDS);
                CHECK(entry.batch.magic == 2 && entry.batch.producer_id == -1 && entry.batch.base_sequence == -1);
                told++;
            } else {
                CHECK(entry.record.offset == offset);
                check_same(&records[offset % RECORDS], &entry);
                offset++;
            }
        }
        CHECK(offset == result.next_offset);
    }
    CHECK(told == 2 && round > 2);
    MUST(klog_cursor_close(cursor));
}

/* A batch that was encoded from the buffer is decoded to it again, and told of. */
static void check_codec(size_t len) {
    klog_read_result result = KLOG_INIT(klog_read_result);
    klog_unpacker unpacker;
    klog_unpacked entry;
    size_t needed = 0;
    int i;
    MUST(klog_encode_packed(packed, len, NULL, 70, batch, sizeof batch, &needed, &err));
    CHECK(klog_decode_packed(batch, needed, KLOG_READ_BATCH_INFO, back, len + 71, &result, &err) == KLOG_ERR_BUFFER_TOO_SMALL);
    CHECK(result.bytes_needed == len + KLOG_PACK_BATCH_BYTES && result.records == RECORDS);
    MUST(klog_decode_packed(batch, needed, KLOG_READ_BATCH_INFO, back, len + KLOG_PACK_BATCH_BYTES, &result, &err));
    CHECK(klog_unpack_begin(&unpacker, back, sizeof back));
    CHECK(klog_unpack_next(&unpacker, &entry) == 1 && entry.kind == KLOG_PACK_BATCH);
    CHECK(entry.batch.base_offset == 70 && entry.batch.bytes == needed);
    for (i = 0; i < RECORDS; i++) {
        CHECK(klog_unpack_next(&unpacker, &entry) == 1);
        check_same(&records[i], &entry);
    }
    CHECK(klog_unpack_next(&unpacker, &entry) == 0);
}

/* Whether the header and the library agree on a buffer that was changed: the library takes nothing that the header refuses. */
static int check_broken(size_t len) {
    klog_unpacker unpacker;
    klog_unpacked entry;
    klog_header header;
    size_t needed = 0;
    int changes, is_good, next = 0, h = 0;
    memcpy(broken, packed, len);
    for (changes = 1 + (int)below(3); changes > 0; changes--) {
        /* Mostly where lengths and kinds are. */
        const size_t at = (size_t)(below(2) == 0 ? below(len) : 32 + below(48));
        broken[at] = (unsigned char)(below(2) == 0 ? below(256) : broken[at] ^ (1U << below(8)));
    }
    is_good = klog_unpack_begin(&unpacker, broken, len);
    while (is_good && (next = klog_unpack_next(&unpacker, &entry)) == 1) {
        while (entry.kind == KLOG_PACK_RECORD && (h = klog_unpack_header(&entry, &header)) == 1) {
            /* Touch what it points to: the sanitizers look. */
            volatile unsigned char last = header.key_len > 0 ? (unsigned char)header.key[header.key_len - 1] : 0;
            (void)last;
        }
        is_good = h == 0;
        if (is_good && entry.kind == KLOG_PACK_RECORD && entry.record.value_len > 0) {
            volatile unsigned char last = ((const unsigned char *)entry.record.value)[entry.record.value_len - 1];
            (void)last;
        }
    }
    is_good = is_good && next == 0;
    if (klog_encode_packed(broken, len, NULL, 0, batch, sizeof batch, &needed, &err) == KLOG_OK) {
        CHECK(is_good);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    klog_manager_options options = KLOG_INIT(klog_manager_options);
    klog_log_options create = KLOG_INIT(klog_log_options);
    klog_manager manager;
    klog_log log;
    size_t len, i;
    int round, taken = 0;
    if (argc < 2) {
        return 2;
    }
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    printf("seed %" PRIu64 "\n", state);
    for (i = 0; i < sizeof text; i++) {
        text[i] = (char)('a' + below(26));
    }
    make_records();
    len = pack_all();
    options.dirs = (const char *const *)&argv[1];
    options.dir_count = 1;
    create.flags = KLOG_LOG_CREATE;
    MUST(klog_manager_open(&options, &manager, &err));
    MUST(klog_log_open(manager, "t", KLOG_NTS, 0, &create, &log, &err));
    check_round_trip(log, len);
    check_codec(len);
    for (round = 0; round < 2000; round++) {
        taken += check_broken(len);
    }
    printf("%d of %d broken buffers were none\n", taken, round);
    CHECK(taken > 20 && taken < round - 20);
    MUST(klog_manager_close(manager, 0, -1, &err));
    return 0;
}
