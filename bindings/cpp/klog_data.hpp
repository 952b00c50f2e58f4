/*
 * klog_data.hpp: how records get into a log and out of it: options of appends and reads, cursors, views, the codec, and the
 * token that ends a long call. Include klog.hpp.
 */
#ifndef KLOG_DATA_HPP
#define KLOG_DATA_HPP

#include <chrono>

#include "klog_base.hpp"

namespace klog {
inline namespace v0 {

/** Ends long calls from another thread. */
class Cancel : public detail::Handle<klog_cancel, klog_cancel_close> {
public:
    using Handle::Handle;

    static Result<Cancel> create() {
        klog_cancel cancel{};
        auto made = detail::call([&](klog_error *err) { return klog_cancel_create(&cancel, err); });
        if (!made) return made.error();
        return Cancel(cancel);
    }
    /** Also in a signal handler. */
    void fire() const noexcept { static_cast<void>(klog_cancel_fire(raw())); }
};

namespace detail {

/** Whether a read found nothing, which is no error here. */
inline bool is_nothing(klog_status status) noexcept { return status == KLOG_ERR_END || status == KLOG_ERR_TIMED_OUT; }

inline klog_cancel cancel_of(const Cancel *cancel) noexcept { return cancel != nullptr ? cancel->raw() : klog_cancel{0}; }

} // namespace detail

/** How to append. As klog_append_options, whose fields they are. */
struct AppendOptions {
    std::uint32_t flags = 0;
    std::uint32_t origin = KLOG_ORIGIN_CLIENT;
    std::int32_t compression = KLOG_COMPRESSION_CONFIG;
    std::int32_t compression_level = 0;
    std::uint32_t durability = KLOG_DURABILITY_PAGE_CACHE;
    /** Set: KLOG_APPEND_HAS_EPOCH. */
    std::optional<std::int32_t> leader_epoch = std::nullopt;
    /** Set: KLOG_APPEND_IF_LOG_END. */
    std::optional<std::int64_t> expected_log_end = std::nullopt;
    /** Set: KLOG_APPEND_HAS_PRODUCER, with the two below. */
    std::optional<std::int64_t> producer_id = std::nullopt;
    std::int32_t producer_epoch = 0;
    std::int32_t base_sequence = 0;
    /** Gets what is wrong with single records of a refused append, as far as there is room. */
    span<klog_record_error> record_errors = {};

    klog_append_options raw() const noexcept {
        auto raw = klog_init<klog_append_options>();
        raw.flags = flags | (leader_epoch ? KLOG_APPEND_HAS_EPOCH : 0U) | (expected_log_end ? KLOG_APPEND_IF_LOG_END : 0U) |
                    (producer_id ? KLOG_APPEND_HAS_PRODUCER : 0U);
        raw.origin = origin;
        raw.compression = compression;
        raw.compression_level = compression_level;
        raw.durability = durability;
        raw.leader_epoch = leader_epoch.value_or(0);
        raw.expected_log_end = expected_log_end.value_or(0);
        raw.producer_id = producer_id.value_or(0);
        raw.producer_epoch = producer_epoch;
        raw.base_sequence = base_sequence;
        raw.record_errors = record_errors.data();
        raw.record_errors_cap = record_errors.size();
        return raw;
    }
};

/** How to read. As klog_read_options. */
struct ReadOptions {
    std::uint32_t flags = 0;
    std::uint32_t isolation = KLOG_ISOLATION_LOG_END;
    std::uint64_t max_bytes = 0;
    /** Of a cursor: at most so many records a call; 0 is 1,000. */
    std::uint32_t max_records = 0;
    /** How long to wait if there is less than min_bytes, or nothing; -1 is without limit. */
    std::chrono::milliseconds timeout = std::chrono::milliseconds(0);
    std::uint64_t min_bytes = 0;
    /** Ends what waits with KLOG_ERR_CANCELLED. A cursor goes on to use it. */
    const Cancel *cancel = nullptr;
    /** With KLOG_READ_HAS_EPOCH in flags: what is taken for the log's latest leader epoch. */
    std::int32_t leader_epoch = 0;

    klog_read_options raw() const noexcept {
        auto raw = klog_init<klog_read_options>();
        raw.flags = flags;
        raw.isolation = isolation;
        raw.max_bytes = max_bytes;
        raw.max_records = max_records;
        raw.timeout_ms = timeout.count();
        raw.min_bytes = min_bytes;
        raw.cancel = detail::cancel_of(cancel);
        raw.leader_epoch = leader_epoch;
        return raw;
    }
};

/** A place in a log from which records are read. */
class Cursor : public detail::Handle<klog_cursor, klog_cursor_close> {
public:
    Cursor() noexcept = default;
    explicit Cursor(klog_cursor raw, std::uint32_t max_records = 0)
        : Handle(raw), records_(max_records != 0 ? max_records : 1000U) {}

    /** The next records, none at the log end, or if none came in the timeout. They are lent until the next call. */
    Result<Records> next() {
        forget();
        detail::ErrorPlace err;
        const klog_status status = klog_cursor_next(raw(), records_.data(), records_.size(), &result_, &err.raw);
        if (detail::is_nothing(status)) return Records();
        if (status != KLOG_OK) return Error(err.raw);
        return Records(records_.data(), result_.records);
    }
    /** The next records as whole entries of a packed buffer; result().bytes of it count, none at the log end. */
    Result<std::size_t> next_packed(span<std::byte> buffer) {
        forget();
        detail::ErrorPlace err;
        const klog_status status = klog_cursor_next_packed(raw(), buffer.data(), buffer.size(), &result_, &err.raw);
        if (detail::is_nothing(status)) return std::size_t{0};
        if (status != KLOG_OK) return Error(err.raw);
        return static_cast<std::size_t>(result_.bytes);
    }
    Result<void> seek(std::int64_t offset) {
        forget();
        return detail::call([&](klog_error *err) { return klog_cursor_seek(raw(), offset, err); });
    }
    /** Of the last call: where the next one goes on, the ends of the log. */
    const klog_read_result &result() const noexcept { return result_; }
    Result<void> close() noexcept { return close_now(); }

private:
    void forget() noexcept {
#if defined(KLOG_DEBUG)
        if (!records_.empty()) std::memset(static_cast<void *>(records_.data()), 0xdb, records_.size() * sizeof(klog_record));
#endif
    }

    std::vector<klog_record> records_;
    klog_read_result result_ = klog_init<klog_read_result>();
};

/** Stored batches, without a copy. */
class View : public detail::Handle<klog_view, klog_view_close> {
public:
    View() noexcept = default;
    View(klog_view raw, const klog_view_info &info) noexcept : Handle(raw), info_(info) {}

    /** The batches; good until the View ends. */
    bytes_view data() const noexcept {
        return bytes_view(static_cast<const std::byte *>(info_.data), static_cast<std::size_t>(info_.len));
    }
    bool empty() const noexcept { return info_.len == 0; }
    /** The segment file with the same bytes from position() on, for sendfile; the View's own. -1 without bytes. */
    int fd() const noexcept { return info_.fd; }
    std::uint64_t position() const noexcept { return info_.position; }
    std::int64_t first_offset() const noexcept { return info_.first_offset; }
    std::int64_t next_offset() const noexcept { return info_.next_offset; }
    const klog_view_info &info() const noexcept { return info_; }
    Result<void> close() noexcept { return close_now(); }

private:
    klog_view_info info_ = klog_init<klog_view_info>();
};

/** Decodes batches from anywhere, a piece a call. */
class Decoder {
public:
    /** The batches must stay as long as this is used. flags: KLOG_READ_CONTROL. */
    explicit Decoder(bytes_view batches, std::uint32_t flags = 0) noexcept : left_(batches), flags_(flags) {}

    /** The next records, none when no whole batch is left(). They are lent until the next call. */
    Result<Records> next() {
        for (;;) {
            auto result = klog_init<klog_read_result>();
            detail::ErrorPlace err;
            const klog_status status = klog_decode(left_.data(), left_.size(), flags_, records_.data(), records_.size(),
                                                   memory_.data(), memory_.size(), &result, &err.raw);
            if (status == KLOG_ERR_END) return Records();
            if (status == KLOG_ERR_BUFFER_TOO_SMALL) {
                if (records_.size() < result.records) records_.resize(result.records);
                if (memory_.size() < result.bytes_needed) memory_.resize(static_cast<std::size_t>(result.bytes_needed));
                continue;
            }
            if (status != KLOG_OK) return Error(err.raw);
            left_ = left_.subspan(static_cast<std::size_t>(result.bytes));
            if (result.records > 0) return Records(records_.data(), result.records);
        }
    }
    /** The next whole batches as a packed buffer, the bytes of it that count; 0 when no whole batch is left(). */
    Result<std::size_t> next_packed(span<std::byte> buffer) {
        auto result = klog_init<klog_read_result>();
        detail::ErrorPlace err;
        const klog_status status = klog_decode_packed(left_.data(), left_.size(), flags_, buffer.data(), buffer.size(),
                                                      &result, &err.raw);
        if (status == KLOG_ERR_END) return std::size_t{0};
        if (status != KLOG_OK) return Error(err.raw);
        left_ = left_.subspan(static_cast<std::size_t>(result.bytes));
        std::uint64_t packed = 0;
        std::memcpy(&packed, buffer.data() + 24, sizeof packed);
        return static_cast<std::size_t>(packed);
    }
    /** What is not decoded yet. */
    bytes_view left() const noexcept { return left_; }

private:
    bytes_view left_;
    std::uint32_t flags_;
    std::vector<klog_record> records_;
    std::vector<std::byte> memory_;
};

/** Encodes records as one batch with the offsets from base_offset on. */
inline Result<std::vector<std::byte>> encode(const Batch &records, std::int64_t base_offset = 0,
                                             const AppendOptions &options = {}) {
    const klog_append_options opts = options.raw();
    const bytes_view packed = records.packed();
    return detail::call_for_bytes([&](std::byte *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
        return klog_encode_packed(packed.data(), packed.size(), &opts, base_offset, buf, cap, needed, err);
    });
}
inline Result<std::vector<std::byte>> encode(span<const klog_record> records, std::int64_t base_offset = 0,
                                             const AppendOptions &options = {}) {
    const klog_append_options opts = options.raw();
    return detail::call_for_bytes([&](std::byte *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
        return klog_encode(records.data(), records.size(), &opts, base_offset, buf, cap, needed, err);
    });
}

} // namespace v0
} // namespace klog

#endif /* KLOG_DATA_HPP */
