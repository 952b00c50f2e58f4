/*
 * Packed record buffers in C: what klog_append_packed, klog_appender_add_packed and klog_encode_packed take, and
 * klog_cursor_next_packed and klog_decode_packed give (docs/format.md). All of it is inline; nothing is allocated, and nothing
 * here calls the library.
 *
 *     klog_packer packer;                               klog_unpacker unpacker;
 *     klog_pack_begin(&packer, buf, sizeof buf);        klog_unpacked entry;
 *     klog_pack(&packer, &record);                      klog_unpack_begin(&unpacker, buf, len);
 *     len = klog_pack_end(&packer);                     while (klog_unpack_next(&unpacker, &entry) == 1) { ... }
 *
 * Buffers need no alignment.
 */
#ifndef KLOG_PACK_H
#define KLOG_PACK_H

#include <string.h>

#include "klog.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KLOG_PACK_MAGIC 0x3152504BU
/* Bytes of the head of a buffer, and of the head of an entry in it. */
#define KLOG_PACK_HEAD_BYTES 32U
#define KLOG_PACK_ENTRY_BYTES 48U
#define KLOG_PACK_BATCH_BYTES 72U
/* Kinds of entries. Others may come in later versions: klog_unpack_next passes over them. */
#define KLOG_PACK_RECORD 1
#define KLOG_PACK_BATCH 2

/* A buffer that is written. */
typedef struct klog_packer {
    unsigned char *buf;
    size_t cap;
    /* Bytes written so far. */
    size_t used;
    /* Records written so far. */
    uint32_t count;
    uint32_t reserved0;
} klog_packer;

/* A buffer that is read. */
typedef struct klog_unpacker {
    const unsigned char *at;
    size_t left;
    /* Entries that are left. */
    uint32_t count;
    uint32_t reserved0;
} klog_unpacker;

/* The batch whose records come next: an entry of a cursor, or of klog_decode_packed, with KLOG_READ_BATCH_INFO. */
typedef struct klog_unpacked_batch {
    int64_t base_offset;
    int64_t last_offset;
    int64_t max_timestamp_ms;
    int64_t producer_id;
    uint32_t bytes;
    /* -1 of formats 0 and 1, which count none. */
    int32_t record_count;
    int32_t leader_epoch;
    int32_t base_sequence;
    /* Kafka's: codec in bits 0-2, 3 log-append time, 4 transactional, 5 control, 6 delete horizon. */
    uint32_t attributes;
    uint32_t crc;
    int16_t producer_epoch;
    int16_t magic;
    uint32_t reserved0;
} klog_unpacked_batch;

/* An entry. What record points to lies in the buffer; its headers are taken by klog_unpack_header, headers is null. */
typedef struct klog_unpacked {
    /* KLOG_PACK_RECORD or KLOG_PACK_BATCH: which of the two was set; the other is as it was. */
    uint32_t kind;
    /* Bytes of headers that klog_unpack_header has not given yet. */
    uint32_t header_bytes;
    const unsigned char *header_at;
    klog_record record;
    klog_unpacked_batch batch;
} klog_unpacked;

/* The number of n bytes at a place. */
static inline uint32_t klog_pack_get32(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline int32_t klog_pack_get_signed32(const unsigned char *at) {
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline int16_t klog_pack_get_signed16(const unsigned char *at) {
    int16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline int64_t klog_pack_get64(const unsigned char *at) {
    int64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline void klog_pack_put32(unsigned char *at, uint32_t value) {
    memcpy(at, &value, sizeof value);
}

static inline void klog_pack_put64(unsigned char *at, int64_t value) {
    memcpy(at, &value, sizeof value);
}

/* Copies len bytes and answers the place behind them; a null pointer has none. */
static inline unsigned char *klog_pack_copy(unsigned char *to, const void *from, uint64_t len) {
    if (from != NULL && len > 0) {
        memcpy(to, from, (size_t)len);
        to += len;
    }
    return to;
}

/* Begins a buffer: 1, or 0 if cap has no room for its head. */
static inline int klog_pack_begin(klog_packer *packer, void *buf, size_t cap) {
    packer->buf = (unsigned char *)buf;
    packer->cap = cap;
    packer->used = KLOG_PACK_HEAD_BYTES;
    packer->count = 0;
    packer->reserved0 = 0;
    return buf != NULL && cap >= KLOG_PACK_HEAD_BYTES;
}

/* What a record takes; 0 if it is too large for any buffer, or has a count of headers without headers. */
static inline size_t klog_pack_bytes(const klog_record *record) {
    const uint64_t limit = INT32_MAX;
    uint64_t bytes = KLOG_PACK_ENTRY_BYTES;
    uint64_t i;
    if (record->key_len > limit || record->value_len > limit || record->header_count > limit) {
        return 0;
    }
    if (record->header_count > 0 && record->headers == NULL) {
        return 0;
    }
    bytes += record->key != NULL ? record->key_len : 0;
    bytes += record->value != NULL ? record->value_len : 0;
    for (i = 0; i < record->header_count && bytes <= limit; i++) {
        const klog_header *header = &record->headers[i];
        if (header->key_len > limit || header->value_len > limit) {
            return 0;
        }
        bytes += 8 + header->key_len + (header->value != NULL ? header->value_len : 0);
    }
    bytes = (bytes + 7) & ~(uint64_t)7;
    return bytes <= limit ? (size_t)bytes : 0;
}

/*
 * Adds a record to be appended: 1, or 0 if it does not fit; then the buffer is as it was. Of the record count what klog_append takes:
 * key, value, headers, and the time with KLOG_RECORD_HAS_TIMESTAMP, else it is the time of the append.
 */
static inline int klog_pack(klog_packer *packer, const klog_record *record) {
    const size_t bytes = klog_pack_bytes(record);
    unsigned char *entry;
    unsigned char *at;
    unsigned char *headers;
    uint64_t i;
    if (bytes == 0 || packer->cap < packer->used || packer->cap - packer->used < bytes) {
        return 0;
    }
    entry = packer->buf + packer->used;
    memset(entry, 0, KLOG_PACK_ENTRY_BYTES);
    klog_pack_put32(entry, (uint32_t)bytes);
    entry[4] = KLOG_PACK_RECORD;
    entry[5] = (unsigned char)((record->key != NULL ? 1 : 0) | (record->value != NULL ? 2 : 0));
    klog_pack_put64(entry + 8, -1);
    klog_pack_put64(entry + 16, (record->flags & KLOG_RECORD_HAS_TIMESTAMP) != 0 ? record->timestamp_ms : KLOG_TIMESTAMP_NOW);
    klog_pack_put32(entry + 24, record->key != NULL ? (uint32_t)record->key_len : 0);
    klog_pack_put32(entry + 28, record->value != NULL ? (uint32_t)record->value_len : 0);
    klog_pack_put32(entry + 36, (uint32_t)record->header_count);
    klog_pack_put32(entry + 44, UINT32_MAX);
    at = klog_pack_copy(entry + KLOG_PACK_ENTRY_BYTES, record->key, record->key_len);
    headers = at = klog_pack_copy(at, record->value, record->value_len);
    for (i = 0; i < record->header_count; i++) {
        const klog_header *header = &record->headers[i];
        klog_pack_put32(at, (uint32_t)header->key_len);
        klog_pack_put32(at + 4, header->value != NULL ? (uint32_t)header->value_len : UINT32_MAX);
        at = klog_pack_copy(at + 8, header->key, header->key_len);
        at = klog_pack_copy(at, header->value, header->value_len);
    }
    klog_pack_put32(entry + 32, (uint32_t)(at - headers));
    memset(at, 0, (size_t)(entry + bytes - at));
    packer->used += bytes;
    packer->count += 1;
    return 1;
}

/* Completes the buffer and answers its bytes; more can be added, and this be called again. 0 if it was not begun. */
static inline size_t klog_pack_end(klog_packer *packer) {
    if (packer->buf == NULL || packer->cap < KLOG_PACK_HEAD_BYTES) {
        return 0;
    }
    klog_pack_put32(packer->buf, KLOG_PACK_MAGIC);
    klog_pack_put32(packer->buf + 4, 1U | KLOG_PACK_HEAD_BYTES << 16);
    klog_pack_put32(packer->buf + 8, packer->count);
    klog_pack_put32(packer->buf + 12, 0);
    klog_pack_put64(packer->buf + 16, -1);
    klog_pack_put64(packer->buf + 24, (int64_t)packer->used);
    return packer->used;
}

/* Begins to read a buffer of which len bytes are there: 1, or 0 if it is none. */
static inline int klog_unpack_begin(klog_unpacker *unpacker, const void *buf, size_t len) {
    const unsigned char *head = (const unsigned char *)buf;
    uint32_t head_bytes;
    uint64_t total;
    memset(unpacker, 0, sizeof *unpacker);
    if (head == NULL || len < KLOG_PACK_HEAD_BYTES || klog_pack_get32(head) != KLOG_PACK_MAGIC) {
        return 0;
    }
    head_bytes = klog_pack_get32(head + 4) >> 16;
    total = (uint64_t)klog_pack_get64(head + 24);
    if ((klog_pack_get32(head + 4) & 0xffff) != 1 || klog_pack_get32(head + 12) != 0 || total > len) {
        return 0;
    }
    if (head_bytes < KLOG_PACK_HEAD_BYTES || head_bytes > total || head_bytes % 8 != 0) {
        return 0;
    }
    unpacker->at = head + head_bytes;
    unpacker->left = (size_t)total - head_bytes;
    unpacker->count = klog_pack_get32(head + 8);
    return 1;
}

/* Reads an entry of len bytes: 1, or 0 if its parts are not in it. */
static inline int klog_unpack_record(const unsigned char *entry, size_t len, klog_unpacked *out) {
    klog_record *record = &out->record;
    const unsigned char *at = entry + KLOG_PACK_ENTRY_BYTES;
    const uint64_t key_len = klog_pack_get32(entry + 24);
    const uint64_t value_len = klog_pack_get32(entry + 28);
    const uint64_t header_len = klog_pack_get32(entry + 32);
    if (key_len + value_len + header_len > len - KLOG_PACK_ENTRY_BYTES) {
        return 0;
    }
    /* What is null has no bytes. */
    if (((entry[5] & 1) == 0 && key_len != 0) || ((entry[5] & 2) == 0 && value_len != 0)) {
        return 0;
    }
    memset(record, 0, sizeof *record);
    record->key = (entry[5] & 1) != 0 ? at : NULL;
    record->key_len = key_len;
    record->value = (entry[5] & 2) != 0 ? at + key_len : NULL;
    record->value_len = value_len;
    record->header_count = klog_pack_get32(entry + 36);
    record->offset = klog_pack_get64(entry + 8);
    record->timestamp_ms = klog_pack_get64(entry + 16);
    record->leader_epoch = klog_pack_get_signed32(entry + 40);
    record->sequence = klog_pack_get_signed32(entry + 44);
    record->flags = KLOG_RECORD_HAS_TIMESTAMP;
    record->flags |= (entry[5] & 4) != 0 ? KLOG_RECORD_CONTROL : 0;
    record->flags |= (entry[5] & 8) != 0 ? KLOG_RECORD_TRANSACTIONAL : 0;
    record->flags |= (entry[5] & 16) != 0 ? KLOG_RECORD_LOG_APPEND_TIME : 0;
    out->header_at = at + key_len + value_len;
    out->header_bytes = (uint32_t)header_len;
    return 1;
}

static inline void klog_unpack_batch(const unsigned char *entry, klog_unpacked_batch *out) {
    memset(out, 0, sizeof *out);
    out->base_offset = klog_pack_get64(entry + 8);
    out->max_timestamp_ms = klog_pack_get64(entry + 16);
    out->bytes = klog_pack_get32(entry + 24);
    out->record_count = klog_pack_get_signed32(entry + 28);
    out->attributes = klog_pack_get32(entry + 36);
    out->leader_epoch = klog_pack_get_signed32(entry + 40);
    out->base_sequence = klog_pack_get_signed32(entry + 44);
    out->producer_id = klog_pack_get64(entry + 48);
    out->producer_epoch = klog_pack_get_signed16(entry + 56);
    out->magic = klog_pack_get_signed16(entry + 58);
    out->crc = klog_pack_get32(entry + 60);
    out->last_offset = klog_pack_get64(entry + 64);
}

/* The next entry: 1, 0 behind the last, or -1 if the buffer is damaged there; then nothing more can be read from it. */
static inline int klog_unpack_next(klog_unpacker *unpacker, klog_unpacked *out) {
    while (unpacker->count > 0) {
        const unsigned char *entry = unpacker->at;
        const size_t len = unpacker->left < KLOG_PACK_ENTRY_BYTES ? 0 : klog_pack_get32(entry);
        int is_good = len >= KLOG_PACK_ENTRY_BYTES && len % 8 == 0 && len <= unpacker->left;
        const unsigned kind = is_good ? entry[4] : 0;
        if (kind == KLOG_PACK_RECORD) {
            is_good = klog_unpack_record(entry, len, out);
        } else if (kind == KLOG_PACK_BATCH) {
            is_good = len >= KLOG_PACK_BATCH_BYTES;
            if (is_good) {
                klog_unpack_batch(entry, &out->batch);
            }
        }
        if (!is_good) {
            unpacker->count = 0;
            return -1;
        }
        unpacker->at += len;
        unpacker->left -= len;
        unpacker->count -= 1;
        if (kind == KLOG_PACK_RECORD || kind == KLOG_PACK_BATCH) {
            out->kind = kind;
            return 1;
        }
    }
    return 0;
}

/* The next header of a record: 1, 0 behind the last, or -1 if it is damaged. record.header_count says how many there are. */
static inline int klog_unpack_header(klog_unpacked *entry, klog_header *out) {
    const unsigned char *at = entry->header_at;
    uint32_t left = entry->header_bytes;
    uint32_t key_len;
    uint32_t value_len;
    if (left == 0) {
        return 0;
    }
    if (left < 8) {
        return -1;
    }
    key_len = klog_pack_get32(at);
    value_len = klog_pack_get32(at + 4);
    left -= 8;
    if (key_len > left || (value_len != UINT32_MAX && value_len > left - key_len)) {
        return -1;
    }
    out->key = (const char *)at + 8;
    out->key_len = key_len;
    out->value = value_len != UINT32_MAX ? at + 8 + key_len : NULL;
    out->value_len = value_len != UINT32_MAX ? value_len : 0;
    value_len = value_len != UINT32_MAX ? value_len : 0;
    entry->header_at = at + 8 + key_len + value_len;
    entry->header_bytes = left - key_len - value_len;
    return 1;
}

#ifdef __cplusplus
}
#endif
#endif
