/*
 * klog_log.hpp: a log of a manager, what it is configured with, how it is waited for and cleaned, and the appender that
 * collects small appends. Include klog.hpp.
 */
#ifndef KLOG_LOG_HPP
#define KLOG_LOG_HPP

#include "klog_data.hpp"

namespace klog {
inline namespace v0 {

/** Configuration keys of Kafka. Copied where it is used, so it may end at once. */
class Config : public detail::Handle<klog_config, klog_config_close> {
public:
    using Handle::Handle;

    /** Broker keys, with overrides of single topics. */
    static Result<Config> broker() { return create(KLOG_CONFIG_BROKER); }
    /** Topic keys. */
    static Result<Config> topic() { return create(KLOG_CONFIG_TOPIC); }

    Result<void> set(std::string_view key, std::string_view value) {
        return detail::call([&](klog_error *err) {
            return klog_config_set(raw(), key.data(), key.size(), value.data(), value.size(), err);
        });
    }
    Result<void> set_topic(std::string_view topic, std::string_view key, std::string_view value) {
        return detail::call([&](klog_error *err) {
            return klog_config_set_topic(raw(), topic.data(), topic.size(), key.data(), key.size(), value.data(),
                                         value.size(), err);
        });
    }
    /** Takes a text in the syntax of .properties files. */
    Result<void> load(std::string_view properties) {
        return detail::call(
            [&](klog_error *err) { return klog_config_load(raw(), properties.data(), properties.size(), err); });
    }
    /** What is known of key number index, as lines; KLOG_ERR_END behind the last. */
    static Result<std::string> describe(std::uint32_t index) {
        return detail::call_for_text([&](char *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
            return klog_config_describe(index, buf, cap, needed, err);
        });
    }
    Result<std::string> get(std::string_view key) const {
        return detail::call_for_text([&](char *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
            return klog_config_get(raw(), key.data(), key.size(), buf, cap, needed, err);
        });
    }

private:
    static Result<Config> create(std::uint32_t kind) {
        klog_config config{};
        auto made = detail::call([&](klog_error *err) { return klog_config_create(kind, &config, err); });
        if (!made) return made.error();
        return Config(config);
    }
};

/** How a log is opened. As klog_log_options. */
struct LogOptions {
    std::uint32_t flags = 0;
    const Config *config = nullptr;
    /** The log directory that it is created in; empty: klog chooses. */
    std::string dir = {};
};

/** What to wait for. As klog_wait_options. */
struct WaitOptions {
    std::uint32_t kind = KLOG_WAIT_LOG_END;
    std::uint64_t min_bytes = 0;
    /** -1 is without limit. */
    std::chrono::milliseconds timeout = std::chrono::milliseconds(-1);
    /** Ends the waiting; not for Waiter::arm. */
    const Cancel *cancel = nullptr;

    klog_wait_options raw(std::int64_t offset) const noexcept {
        auto raw = klog_init<klog_wait_options>();
        raw.kind = kind;
        raw.offset = offset;
        raw.min_bytes = min_bytes;
        raw.timeout_ms = timeout.count();
        raw.cancel = detail::cancel_of(cancel);
        return raw;
    }
};

/** How logs are cleaned. As klog_clean_options. */
struct CleanOptions {
    std::uint32_t flags = 0;
    double min_dirty_ratio = 0;
    std::uint64_t map_bytes = 0;
    std::uint64_t io_bytes_per_second = 0;
    std::uint32_t max_logs = 0;
    /** 0 is as long as it takes. */
    std::chrono::milliseconds timeout = std::chrono::milliseconds(0);
    const Cancel *cancel = nullptr;
    /** Set: KLOG_CLEAN_HAS_FIRST_DIRTY. */
    std::optional<std::int64_t> first_dirty_offset = std::nullopt;

    klog_clean_options raw() const noexcept {
        auto raw = klog_init<klog_clean_options>();
        raw.flags = flags | (first_dirty_offset ? KLOG_CLEAN_HAS_FIRST_DIRTY : 0U);
        raw.min_dirty_ratio = min_dirty_ratio;
        raw.map_bytes = map_bytes;
        raw.io_bytes_per_second = io_bytes_per_second;
        raw.max_logs = max_logs;
        raw.timeout_ms = timeout.count();
        raw.cancel = detail::cancel_of(cancel);
        raw.first_dirty_offset = first_dirty_offset.value_or(0);
        return raw;
    }
};

/** How an appender works. As klog_appender_options. */
struct AppenderOptions {
    AppendOptions append = {};
    std::uint64_t batch_bytes = 0;
    std::uint64_t queue_bytes = 0;
    std::chrono::microseconds linger = std::chrono::microseconds(0);
};

/** Collects small appends of many threads into few batches. Ends with a flush; close() tells what came of that. */
class Appender : public detail::Handle<klog_appender, detail::close_appender> {
public:
    using Handle::Handle;

    /** Adds records, all or none; their ticket. Waits while the queue is full, with timeout 0 it is KLOG_ERR_QUEUE_FULL. */
    Result<std::uint64_t> add(const Batch &records, std::chrono::milliseconds timeout = std::chrono::milliseconds(-1)) {
        const bytes_view packed = records.packed();
        return detail::call_for(std::uint64_t{0}, [&](std::uint64_t *ticket, klog_error *err) {
            return klog_appender_add_packed(raw(), packed.data(), packed.size(), timeout.count(), ticket, err);
        });
    }
    /** Of C structs. */
    Result<std::uint64_t> add(span<const klog_record> records,
                              std::chrono::milliseconds timeout = std::chrono::milliseconds(-1)) {
        return detail::call_for(std::uint64_t{0}, [&](std::uint64_t *ticket, klog_error *err) {
            return klog_appender_add(raw(), records.data(), records.size(), timeout.count(), ticket, err);
        });
    }
    /** One record. */
    Result<std::uint64_t> add(std::optional<bytes_view> key, std::optional<bytes_view> value,
                              std::int64_t timestamp_ms = KLOG_TIMESTAMP_NOW) {
        const klog_record record = detail::plain_record(key, value, timestamp_ms);
        return add(span<const klog_record>(&record, 1));
    }
    Result<std::uint64_t> add(std::string_view key, std::string_view value,
                              std::int64_t timestamp_ms = KLOG_TIMESTAMP_NOW) {
        return add(bytes(key), bytes(value), timestamp_ms);
    }
    /** What came of a ticket, once it is appended. KLOG_ERR_TIMED_OUT if that was not in time: it may be asked for again. */
    Result<klog_append_result> wait(std::uint64_t ticket, std::chrono::milliseconds timeout = std::chrono::milliseconds(-1),
                                    const Cancel *cancel = nullptr) {
        return detail::call_for(klog_init<klog_append_result>(), [&](klog_append_result *out, klog_error *err) {
            return klog_appender_wait(raw(), ticket, timeout.count(), detail::cancel_of(cancel), out, err);
        });
    }
    /** Appends all that was added; the first failure since the last flush. */
    Result<void> flush(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1)) {
        return detail::call([&](klog_error *err) { return klog_appender_flush(raw(), timeout.count(), err); });
    }
    /** Flushes and ends it. flags: KLOG_CLOSE_DISCARD drops what is not appended yet. */
    Result<void> close(std::uint32_t flags = 0) {
        return detail::call([&](klog_error *err) { return klog_appender_close(release(), flags, err); });
    }
};

/** A log of a manager. */
class Log : public detail::Handle<klog_log, klog_log_close> {
public:
    using Handle::Handle;

    Result<klog_append_result> append(const Batch &records, const AppendOptions &options = {}) {
        const bytes_view packed = records.packed();
        const klog_append_options opts = options.raw();
        return detail::call_for(klog_init<klog_append_result>(), [&](klog_append_result *out, klog_error *err) {
            return klog_append_packed(raw(), packed.data(), packed.size(), &opts, out, err);
        });
    }
    /** Of C structs, without a copy between. */
    Result<klog_append_result> append(span<const klog_record> records, const AppendOptions &options = {}) {
        const klog_append_options opts = options.raw();
        return detail::call_for(klog_init<klog_append_result>(), [&](klog_append_result *out, klog_error *err) {
            return klog_append(raw(), records.data(), records.size(), &opts, out, err);
        });
    }
    /** Ready record batches. */
    Result<klog_append_result> append_raw(bytes_view batches, const AppendOptions &options = {}) {
        const klog_append_options opts = options.raw();
        return detail::call_for(klog_init<klog_append_result>(), [&](klog_append_result *out, klog_error *err) {
            return klog_append_batches(raw(), batches.data(), batches.size(), &opts, out, err);
        });
    }
    /** One record; its offset. */
    Result<std::int64_t> append(std::optional<bytes_view> key, std::optional<bytes_view> value,
                                std::int64_t timestamp_ms = KLOG_TIMESTAMP_NOW) {
        return detail::call_for(std::int64_t{-1}, [&](std::int64_t *offset, klog_error *err) {
            return klog_append_one(raw(), key ? detail::there(*key) : nullptr, key ? key->size() : 0,
                                   value ? detail::there(*value) : nullptr, value ? value->size() : 0, timestamp_ms, offset,
                                   err);
        });
    }
    Result<std::int64_t> append(std::string_view key, std::string_view value,
                                std::int64_t timestamp_ms = KLOG_TIMESTAMP_NOW) {
        return append(bytes(key), bytes(value), timestamp_ms);
    }
    Result<klog_append_result> append_marker(std::int64_t producer_id, std::int32_t producer_epoch, bool commit,
                                             std::int32_t coordinator_epoch) {
        return detail::call_for(klog_init<klog_append_result>(), [&](klog_append_result *out, klog_error *err) {
            return klog_append_marker(raw(), producer_id, producer_epoch, commit ? 1U : 0U, coordinator_epoch, out, err);
        });
    }

    /** For small appends of many threads. */
    Result<Appender> appender(const AppenderOptions &options = {}) {
        const klog_append_options append = options.append.raw();
        auto opts = klog_init<klog_appender_options>();
        opts.append = &append;
        opts.batch_bytes = options.batch_bytes;
        opts.queue_bytes = options.queue_bytes;
        opts.linger_us = options.linger.count();
        klog_appender appender{};
        auto made = detail::call([&](klog_error *err) { return klog_appender_open(raw(), &opts, &appender, err); });
        if (!made) return made.error();
        return Appender(appender);
    }

    /**
     * Whole batches into a buffer; bytes is 0 if there are none, or none came in the timeout. If the first does not fit the error
     * is KLOG_ERR_BUFFER_TOO_SMALL; a View always fits.
     */
    Result<klog_read_result> read(std::int64_t offset, span<std::byte> buffer, const ReadOptions &options = {}) const {
        const klog_read_options opts = options.raw();
        auto result = klog_init<klog_read_result>();
        detail::ErrorPlace err;
        const klog_status status = klog_read(raw(), offset, &opts, buffer.data(), buffer.size(), &result, &err.raw);
        if (status != KLOG_OK && !detail::is_nothing(status)) return Error(err.raw);
        return result;
    }
    Result<Cursor> cursor(std::int64_t from, const ReadOptions &options = {}) const {
        const klog_read_options opts = options.raw();
        klog_cursor cursor{};
        auto made = detail::call([&](klog_error *err) { return klog_cursor_open(raw(), from, &opts, &cursor, err); });
        if (!made) return made.error();
        return Cursor(cursor, options.max_records);
    }
    /** Stored batches in place; empty() if there are none, or none came in the timeout. */
    Result<View> view(std::int64_t from, const ReadOptions &options = {}) const {
        const klog_read_options opts = options.raw();
        klog_view view{};
        auto info = klog_init<klog_view_info>();
        detail::ErrorPlace err;
        const klog_status status = klog_view_open(raw(), from, &opts, &view, &info, &err.raw);
        if (detail::is_nothing(status)) {
            info.fd = -1;
            info.first_offset = info.next_offset = from;
        } else if (status != KLOG_OK) {
            return Error(err.raw);
        }
        return View(view, info);
    }

    /** Waits until an end of the log lies above the offset, and says where it is; else KLOG_ERR_TIMED_OUT. */
    Result<std::int64_t> wait(std::int64_t offset, const WaitOptions &options = {}) const {
        const klog_wait_options opts = options.raw(offset);
        return detail::call_for(std::int64_t{-1}, [&](std::int64_t *end, klog_error *err) {
            return klog_wait(raw(), &opts, end, err);
        });
    }

    Result<std::int64_t> end_offset() const noexcept {
        std::int64_t end = -1;
        const klog_status status = klog_log_end_offset(raw(), &end);
        if (status != KLOG_OK) return Error(status);
        return end;
    }
    Result<klog_log_info> info() const {
        return detail::call_for(klog_init<klog_log_info>(),
                                [&](klog_log_info *out, klog_error *err) { return klog_log_get_info(raw(), out, err); });
    }
    /** The first record of this time or later; offset -1 if there is none. Or a KLOG_TIMESTAMP_ constant. */
    Result<klog_timestamp_offset> offset_for_time(std::int64_t timestamp_ms) const {
        return detail::call_for(klog_init<klog_timestamp_offset>(), [&](klog_timestamp_offset *out, klog_error *err) {
            return klog_offset_for_timestamp(raw(), timestamp_ms, out, err);
        });
    }
    Result<klog_epoch_offset> offset_for_epoch(std::int32_t epoch) const {
        return detail::call_for(klog_init<klog_epoch_offset>(), [&](klog_epoch_offset *out, klog_error *err) {
            return klog_offset_for_epoch(raw(), epoch, out, err);
        });
    }
    Result<void> assign_epoch(std::int32_t epoch, std::int64_t start_offset) {
        return detail::call([&](klog_error *err) { return klog_epoch_assign(raw(), epoch, start_offset, err); });
    }
    /** The high watermark as it is then. */
    Result<std::int64_t> set_high_watermark(std::int64_t offset) {
        return detail::call_for(std::int64_t{-1}, [&](std::int64_t *out, klog_error *err) {
            return klog_high_watermark_set(raw(), offset, out, err);
        });
    }
    Result<std::vector<klog_aborted_txn>> aborted_txns(std::int64_t from, std::int64_t upto) const {
        std::vector<klog_aborted_txn> found;
        for (;;) {
            detail::ErrorPlace err;
            std::size_t needed = 0;
            const klog_status status =
                klog_aborted_txns(raw(), from, upto, found.data(), found.size(), &needed, &err.raw);
            if (status != KLOG_OK && status != KLOG_ERR_BUFFER_TOO_SMALL) return Error(err.raw);
            found.resize(needed);
            if (status == KLOG_OK) return found;
        }
    }
    Result<std::string> producers() const {
        return detail::call_for_text([&](char *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
            return klog_producers(raw(), buf, cap, needed, err);
        });
    }

    /** Makes what lies below an offset durable; -1 is the log end. */
    Result<void> flush(std::int64_t upto = -1) {
        return detail::call([&](klog_error *err) { return klog_flush(raw(), upto, 0, err); });
    }
    /** Begins a new segment; its base offset. */
    Result<std::int64_t> roll() {
        return detail::call_for(std::int64_t{-1},
                                [&](std::int64_t *base, klog_error *err) { return klog_roll(raw(), base, err); });
    }
    /** Whether anything was cut. */
    Result<bool> truncate_to(std::int64_t offset) {
        std::uint32_t truncated = 0;
        auto done = detail::call([&](klog_error *err) { return klog_truncate_to(raw(), offset, &truncated, err); });
        if (!done) return done.error();
        return truncated != 0;
    }
    Result<void> truncate_fully(std::int64_t new_offset, std::int64_t log_start_offset = -1) {
        return detail::call(
            [&](klog_error *err) { return klog_truncate_fully(raw(), new_offset, log_start_offset, err); });
    }
    /** Where the log starts then. */
    Result<std::int64_t> delete_records(std::int64_t before) {
        return detail::call_for(std::int64_t{-1}, [&](std::int64_t *start, klog_error *err) {
            return klog_delete_records(raw(), before, start, err);
        });
    }
    Result<void> set_config(const Config &overrides) {
        return detail::call([&](klog_error *err) { return klog_log_set_config(raw(), overrides.raw(), err); });
    }
    Result<void> move_to(std::uint32_t dir, std::chrono::milliseconds timeout = std::chrono::milliseconds(-1),
                         const Cancel *cancel = nullptr) {
        return detail::call([&](klog_error *err) {
            return klog_log_move(raw(), dir, timeout.count(), detail::cancel_of(cancel), err);
        });
    }
    /** No pass of the cleaner runs until as many resumes. */
    Result<void> pause_cleaning() {
        return detail::call([&](klog_error *err) { return klog_clean_pause(raw(), err); });
    }
    Result<void> resume_cleaning() {
        return detail::call([&](klog_error *err) { return klog_clean_resume(raw(), err); });
    }
    /** Waits until the cleaner has come to an offset; else KLOG_ERR_TIMED_OUT. */
    Result<void> await_cleaning(std::int64_t offset, std::chrono::milliseconds timeout = std::chrono::milliseconds(-1),
                                const Cancel *cancel = nullptr) const {
        return detail::call([&](klog_error *err) {
            return klog_clean_await(raw(), offset, timeout.count(), detail::cancel_of(cancel), err);
        });
    }
    /** How far the pass is that runs. */
    Result<klog_clean_progress> cleaning() const {
        return detail::call_for(klog_init<klog_clean_progress>(), [&](klog_clean_progress *out, klog_error *err) {
            return klog_clean_get_progress(raw(), out, err);
        });
    }
    /** Deletes the partition with its records. */
    Result<void> delete_log() {
        return detail::call([&](klog_error *err) { return klog_log_delete(raw(), 0, err); });
    }
    /** Gives the handle back; the log stays open. */
    Result<void> close() noexcept { return close_now(); }
};

} // namespace v0
} // namespace klog

#endif /* KLOG_LOG_HPP */
