/*
 * klog.hpp: klog.h for C++17 and later. Header only; everything here is inline over the C functions, and nothing of the C++
 * library crosses the border of the shared one.
 *
 *     auto manager = klog::Manager::open("data", {KLOG_OPEN_CREATE_DIRS});
 *     auto log = manager->log("orders", 0, {KLOG_LOG_CREATE});
 *     auto offset = log->append("order-7", "paid");
 *     auto cursor = log->cursor(0);
 *     for (auto records = cursor->next(); records && !records->empty(); records = cursor->next())
 *         for (klog::RecordRef record : *records) use(record.value_text());
 *
 * Results. What can fail answers a Result<T>: a value or a klog::Error. `if (result)` asks, `*result` and `result->` look
 * (there must be a value), `result.error()` tells. With exceptions `result.value()` throws the Error. Everything compiles with
 * -fno-exceptions -fno-rtti too, where value() is not there; memory that the C++ library cannot get ends the program then.
 *
 * Handles. Manager, Log, Cursor, View, Config, Cancel and Events own a handle: they can be moved, not copied, and close it when
 * they end. close() does so at once and answers what went wrong, which a destructor cannot; use it for a Manager, whose close
 * flushes. Handles may end in any order: what is left of a closed manager answers KLOG_ERR_CLOSED.
 *
 * Threads. Manager, Log, Cancel and Events: any thread at any time. Cursor, Batch, Decoder: one at a time.
 *
 * Lending. What a Cursor or a Decoder gives is good until its next call or its end; with KLOG_DEBUG defined the records given
 * before are overwritten then. What a View gives is good until the View ends, also after the manager is closed.
 *
 * klog.h is the manual of what each call does; the statuses are its KLOG_ERR_ constants.
 */
#ifndef KLOG_HPP
#define KLOG_HPP

#include <chrono>

#include "klog_base.hpp"

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

    klog_read_options raw() const noexcept {
        auto raw = klog_init<klog_read_options>();
        raw.flags = flags;
        raw.isolation = isolation;
        raw.max_bytes = max_bytes;
        raw.max_records = max_records;
        return raw;
    }
};

/** A place in a log from which records are read. */
class Cursor : public detail::Handle<klog_cursor, klog_cursor_close> {
public:
    Cursor() noexcept = default;
    explicit Cursor(klog_cursor raw, std::uint32_t max_records = 0)
        : Handle(raw), records_(max_records != 0 ? max_records : 1000U) {}

    /** The next records, none at the log end. They are lent until the next call. */
    Result<Records> next() {
        forget();
        detail::ErrorPlace err;
        const klog_status status = klog_cursor_next(raw(), records_.data(), records_.size(), &result_, &err.raw);
        if (status == KLOG_ERR_END) return Records();
        if (status != KLOG_OK) return Error(err.raw);
        return Records(records_.data(), result_.records);
    }
    /** The next records as whole entries of a packed buffer; result().bytes of it count, none at the log end. */
    Result<std::size_t> next_packed(span<std::byte> buffer) {
        forget();
        detail::ErrorPlace err;
        const klog_status status = klog_cursor_next_packed(raw(), buffer.data(), buffer.size(), &result_, &err.raw);
        if (status == KLOG_ERR_END) return std::size_t{0};
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
    std::vector<std::byte> batch;
    for (;;) {
        detail::ErrorPlace err;
        std::size_t needed = 0;
        const klog_status status = klog_encode_packed(packed.data(), packed.size(), &opts, base_offset, batch.data(),
                                                      batch.size(), &needed, &err.raw);
        batch.resize(needed);
        if (status == KLOG_OK) return batch;
        if (status != KLOG_ERR_BUFFER_TOO_SMALL) return Error(err.raw);
    }
}

/** How a log is opened. As klog_log_options. */
struct LogOptions {
    std::uint32_t flags = 0;
    const Config *config = nullptr;
    /** The log directory that it is created in; empty: klog chooses. */
    std::string dir = {};
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

    /** Whole batches into a buffer. If the first does not fit the error is KLOG_ERR_BUFFER_TOO_SMALL; a View always fits. */
    Result<klog_read_result> read(std::int64_t offset, span<std::byte> buffer, const ReadOptions &options = {}) const {
        const klog_read_options opts = options.raw();
        return detail::call_for(klog_init<klog_read_result>(), [&](klog_read_result *out, klog_error *err) {
            return klog_read(raw(), offset, &opts, buffer.data(), buffer.size(), out, err);
        });
    }
    Result<Cursor> cursor(std::int64_t from, const ReadOptions &options = {}) const {
        const klog_read_options opts = options.raw();
        klog_cursor cursor{};
        auto made = detail::call([&](klog_error *err) { return klog_cursor_open(raw(), from, &opts, &cursor, err); });
        if (!made) return made.error();
        return Cursor(cursor, options.max_records);
    }
    Result<View> view(std::int64_t from, const ReadOptions &options = {}) const {
        const klog_read_options opts = options.raw();
        klog_view view{};
        auto info = klog_init<klog_view_info>();
        auto made = detail::call([&](klog_error *err) { return klog_view_open(raw(), from, &opts, &view, &info, err); });
        if (!made) return made.error();
        return View(view, info);
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
    /** Deletes the partition with its records. */
    Result<void> delete_log() {
        return detail::call([&](klog_error *err) { return klog_log_delete(raw(), 0, err); });
    }
    /** Gives the handle back; the log stays open. */
    Result<void> close() noexcept { return close_now(); }
};

/** What happens in a manager, a line an event; the fields are those of klog_events_poll. */
class Events : public detail::Handle<klog_events, klog_events_close> {
public:
    Events() noexcept = default;
    Events(klog_events raw, int fd) noexcept : Handle(raw), fd_(fd) {}

    /** Readable while there is something to poll; for epoll, not to be read or closed. */
    int fd() const noexcept { return fd_; }
    /** Lines of events, the oldest first; KLOG_ERR_TIMED_OUT if none came. */
    Result<std::string> poll(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) {
        std::string lines(4096, '\0');
        for (;;) {
            detail::ErrorPlace err;
            const klog_status status = klog_events_poll(raw(), lines.data(), lines.size(), nullptr, timeout.count(),
                                                        klog_cancel{0}, &err.raw);
            if (status == KLOG_ERR_BUFFER_TOO_SMALL) {
                lines.resize(static_cast<std::size_t>(err.raw.position));
                continue;
            }
            if (status != KLOG_OK) return Error(err.raw);
            lines.resize(std::strlen(lines.c_str()));
            return lines;
        }
    }

private:
    int fd_ = -1;
};

/** How log directories are opened. As klog_manager_options. */
struct ManagerOptions {
    std::uint32_t flags = 0;
    const Config *config = nullptr;
    std::uint32_t background_threads = 0;
    std::uint32_t recovery_threads = 0;
    /** Set: KLOG_OPEN_MANUAL_CLOCK, with this time. */
    std::optional<std::int64_t> now_ms = std::nullopt;
    /** Set: KLOG_OPEN_HAS_BROKER_EPOCH. */
    std::optional<std::int64_t> broker_epoch = std::nullopt;
};

/** Log directories that are open. */
class Manager : public detail::Handle<klog_manager, detail::close_manager> {
public:
    using Handle::Handle;

    static Result<Manager> open(const std::vector<std::filesystem::path> &dirs, const ManagerOptions &options = {}) {
        std::vector<const char *> paths;
        for (const auto &dir : dirs) paths.push_back(dir.c_str());
        auto opts = klog_init<klog_manager_options>();
        opts.flags = options.flags | (options.now_ms ? KLOG_OPEN_MANUAL_CLOCK : 0U) |
                     (options.broker_epoch ? KLOG_OPEN_HAS_BROKER_EPOCH : 0U);
        opts.dirs = paths.data();
        opts.dir_count = paths.size();
        if (options.config != nullptr) opts.config = options.config->raw();
        opts.background_threads = options.background_threads;
        opts.recovery_threads = options.recovery_threads;
        opts.now_ms = options.now_ms.value_or(0);
        opts.broker_epoch = options.broker_epoch.value_or(0);
        klog_manager manager{};
        auto made = detail::call([&](klog_error *err) { return klog_manager_open(&opts, &manager, err); });
        if (!made) return made.error();
        return Manager(manager);
    }
    static Result<Manager> open(const std::filesystem::path &dir, const ManagerOptions &options = {}) {
        return open(std::vector<std::filesystem::path>{dir}, options);
    }

    Result<Log> log(std::string_view topic, std::int32_t partition, const LogOptions &options = {}) {
        auto opts = klog_init<klog_log_options>();
        opts.flags = options.flags;
        if (options.config != nullptr) opts.config = options.config->raw();
        opts.dir = options.dir.empty() ? nullptr : options.dir.data();
        opts.dir_len = options.dir.size();
        klog_log log{};
        auto made = detail::call([&](klog_error *err) {
            return klog_log_open(raw(), topic.data(), topic.size(), partition, &opts, &log, err);
        });
        if (!made) return made.error();
        return Log(log);
    }
    Result<klog_manager_info> info() const {
        return detail::call_for(klog_init<klog_manager_info>(), [&](klog_manager_info *out, klog_error *err) {
            return klog_manager_get_info(raw(), out, err);
        });
    }
    /** Every log, a line each: see klog_manager_list. */
    Result<std::string> list() const {
        return detail::call_for_text([&](char *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
            return klog_manager_list(raw(), buf, cap, needed, err);
        });
    }
    /** What the open found, a line each: see klog_manager_report. */
    Result<std::string> report() const {
        return detail::call_for_text([&](char *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
            return klog_manager_report(raw(), buf, cap, needed, err);
        });
    }
    /** Metrics as OpenMetrics text. */
    Result<std::string> metrics_text() const {
        return detail::call_for_text([&](char *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
            return klog_metrics_text(raw(), KLOG_METRICS_OPENMETRICS, buf, cap, needed, err);
        });
    }
    Result<Events> events(std::uint64_t mask = 0, std::size_t capacity = 0) {
        klog_events events{};
        int fd = -1;
        auto made =
            detail::call([&](klog_error *err) { return klog_events_open(raw(), mask, capacity, &events, &fd, err); });
        if (!made) return made.error();
        return Events(events, fd);
    }
    /** With KLOG_OPEN_READ_ONLY: takes in what the owner did; of one log, or of all. */
    Result<void> refresh(const Log *only = nullptr) {
        return detail::call([&](klog_error *err) { return klog_manager_refresh(raw(), raw_of(only), err); });
    }
    /** One pass of retention. flags: KLOG_DRY_RUN. */
    Result<klog_retain_result> retain(const Log *only = nullptr, std::uint32_t flags = 0) {
        return detail::call_for(klog_init<klog_retain_result>(), [&](klog_retain_result *out, klog_error *err) {
            return klog_retain(raw(), raw_of(only), flags, out, err);
        });
    }
    Result<void> flush() {
        return detail::call([&](klog_error *err) { return klog_flush_all(raw(), 0, err); });
    }
    /** Runs what is due; with a manual clock sets the time first. */
    Result<klog_tick_result> tick(std::int64_t now_ms = -1, std::chrono::microseconds budget = std::chrono::microseconds(0)) {
        return detail::call_for(klog_init<klog_tick_result>(), [&](klog_tick_result *out, klog_error *err) {
            return klog_tick(raw(), now_ms, budget.count(), out, err);
        });
    }
    Result<void> set_config(const Config &changes) {
        return detail::call([&](klog_error *err) { return klog_manager_set_config(raw(), changes.raw(), err); });
    }
    /** Flushes, writes checkpoints, gives the directories back. flags: KLOG_CLOSE_ABANDON. */
    Result<void> close(std::uint32_t flags = 0) {
        return detail::call([&](klog_error *err) { return klog_manager_close(release(), flags, -1, err); });
    }

private:
    static klog_log raw_of(const Log *log) noexcept { return log != nullptr ? log->raw() : klog_log{0}; }
};

/** Whether this header fits the library that is loaded; for programs that may meet another one. */
inline Result<void> check_library() {
    return detail::call([](klog_error *err) { return klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, err); });
}

} // namespace v0
} // namespace klog

#endif /* KLOG_HPP */
