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
 * Handles. Manager, Log, Cursor, View, Appender, Waiter, Config, Cancel and Events own a handle: they can be moved, not copied,
 * and close it when they end. close() does so at once and answers what went wrong, which a destructor cannot; use it for a
 * Manager and an Appender, whose closes flush. Handles may end in any order: what is left of a closed manager answers
 * KLOG_ERR_CLOSED.
 *
 * Threads. Manager, Log, Appender, Waiter, Cancel and Events: any thread at any time. Cursor, Batch, Decoder: one at a time.
 * Moving, close() and the end of an object are no calls of it: no other thread may use it then. To end a call that waits, fire
 * the Cancel that it carries.
 *
 * Waiting. With a timeout, a read, a view or a cursor that finds nothing gives nothing, as it does without; a wait or a poll
 * answers KLOG_ERR_TIMED_OUT.
 *
 * Lending. What a Cursor or a Decoder gives is good until its next call or its end; with KLOG_DEBUG defined the records given
 * before are overwritten then. What a View gives is good until the View ends, also after the manager is closed.
 *
 * klog.h is the manual of what each call does; the statuses are its KLOG_ERR_ constants.
 */
#ifndef KLOG_HPP
#define KLOG_HPP

#include "klog_log.hpp"

namespace klog {
inline namespace v0 {

/** Logs that are waited for together, thousands of them if need be. */
class Waiter : public detail::Handle<klog_waiter, klog_waiter_close> {
public:
    Waiter() noexcept = default;
    Waiter(klog_waiter raw, int fd) noexcept : Handle(raw), fd_(fd) {}

    /** Readable while there is something to poll; for epoll, not to be read or closed. */
    int fd() const noexcept { return fd_; }
    /** When log.wait(offset, options) would answer, a poll gives an entry with user_data, once. */
    Result<void> arm(const Log &log, std::int64_t offset, std::uint64_t user_data = 0, const WaitOptions &options = {}) {
        const klog_wait_options opts = options.raw(offset);
        return detail::call(
            [&](klog_error *err) { return klog_waiter_arm(raw(), log.raw(), &opts, user_data, err); });
    }
    /** Those that are ready, as many as there is room for; KLOG_ERR_TIMED_OUT if none is. */
    Result<span<const klog_ready>> poll(span<klog_ready> room,
                                        std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) {
        std::size_t count = 0;
        auto done = detail::call([&](klog_error *err) {
            return klog_waiter_poll(raw(), room.data(), room.size(), &count, timeout.count(), err);
        });
        if (!done) return done.error();
        return span<const klog_ready>(room.data(), count);
    }
    Result<void> close() noexcept { return close_now(); }

private:
    int fd_ = -1;
};

/** What happens in a manager, a line an event; the fields are those of klog_events_poll. */
class Events : public detail::Handle<klog_events, klog_events_close> {
public:
    Events() noexcept = default;
    Events(klog_events raw, int fd) noexcept : Handle(raw), fd_(fd) {}

    /** Readable while there is something to poll; for epoll, not to be read or closed. */
    int fd() const noexcept { return fd_; }
    /** Lines of events, the oldest first; KLOG_ERR_TIMED_OUT if none came. */
    Result<std::string> poll(std::chrono::milliseconds timeout = std::chrono::milliseconds(0),
                             const Cancel *cancel = nullptr) {
        std::string lines(4096, '\0');
        for (;;) {
            detail::ErrorPlace err;
            const klog_status status = klog_events_poll(raw(), lines.data(), lines.size(), nullptr, timeout.count(),
                                                        detail::cancel_of(cancel), &err.raw);
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
    /**
     * Appends to many logs in one call, each item a batch of its own with its own answer in the item: klog::append_item makes
     * them. The error is that of the first one that was not appended.
     */
    Result<void> append_many(span<klog_packed_item> items, const AppendOptions &options = {}) {
        const klog_append_options opts = options.raw();
        return detail::call(
            [&](klog_error *err) { return klog_append_many_packed(raw(), items.data(), items.size(), &opts, err); });
    }
    Result<void> append_many(span<klog_append_item> items, const AppendOptions &options = {}) {
        const klog_append_options opts = options.raw();
        return detail::call(
            [&](klog_error *err) { return klog_append_many(raw(), items.data(), items.size(), &opts, err); });
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
    /** The values of all metrics, in the order of klog_metric_describe; of one log, or of all. */
    Result<std::vector<std::uint64_t>> metrics(const Log *only = nullptr) const {
        std::vector<std::uint64_t> values;
        for (;;) {
            std::size_t count = 0;
            auto done = detail::call([&](klog_error *err) {
                return klog_metrics_read(raw(), raw_of(only), values.data(), values.size(), &count, err);
            });
            if (!done && done.status() != KLOG_ERR_BUFFER_TOO_SMALL) return done.error();
            const bool fits = count <= values.size();
            values.resize(count);
            if (fits && done) return values;
        }
    }
    Result<Waiter> waiter() {
        klog_waiter waiter{};
        int fd = -1;
        auto made = detail::call([&](klog_error *err) { return klog_waiter_open(raw(), &waiter, &fd, err); });
        if (!made) return made.error();
        return Waiter(waiter, fd);
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
    /** Compacts one log now, or all that are dirty enough. */
    Result<klog_clean_result> clean(const Log *only = nullptr, const CleanOptions &options = {}) {
        const klog_clean_options opts = options.raw();
        return detail::call_for(klog_init<klog_clean_result>(), [&](klog_clean_result *out, klog_error *err) {
            return klog_clean(raw(), raw_of(only), &opts, out, err);
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
    /** Writes checkpoint files now: KLOG_CHECKPOINT_ bits. */
    Result<void> checkpoint(std::uint32_t which) {
        return detail::call([&](klog_error *err) { return klog_checkpoint(raw(), which, err); });
    }
    /** Loads a log that failed to load. */
    Result<void> retry(std::string_view topic, std::int32_t partition) {
        return detail::call(
            [&](klog_error *err) { return klog_log_retry(raw(), topic.data(), topic.size(), partition, err); });
    }
    /** Drops one of the copies of a partition that was found in several directories. */
    Result<void> resolve(std::string_view topic, std::int32_t partition, std::uint32_t drop_dir) {
        return detail::call([&](klog_error *err) {
            return klog_manager_resolve(raw(), topic.data(), topic.size(), partition, drop_dir, err);
        });
    }
    /** Lets a copy that was on its way to another directory be the log. */
    Result<void> promote(std::string_view topic, std::int32_t partition) {
        return detail::call(
            [&](klog_error *err) { return klog_log_promote(raw(), topic.data(), topic.size(), partition, err); });
    }
    /** The path of directory number index, and KLOG_OK or what took it offline; KLOG_ERR_END behind the last. */
    Result<std::pair<std::filesystem::path, klog_status>> dir(std::uint32_t index) const {
        klog_status state = KLOG_OK;
        auto path = detail::call_for_text([&](char *buf, std::size_t cap, std::size_t *needed, klog_error *err) {
            return klog_manager_dir_info(raw(), index, buf, cap, needed, &state, err);
        });
        if (!path) return path.error();
        return std::make_pair(std::filesystem::path(*path), state);
    }
    /** Says whose a directory is: see klog_meta_create. The id has 16 bytes; without one it is random. */
    Result<void> own(std::uint32_t dir, std::string_view cluster_id, std::int32_t node_id,
                     const std::uint8_t *directory_id = nullptr) {
        return detail::call([&](klog_error *err) {
            return klog_meta_create(raw(), dir, cluster_id.data(), cluster_id.size(), node_id, directory_id, err);
        });
    }
    Result<void> set_config(const Config &changes) {
        return detail::call([&](klog_error *err) { return klog_manager_set_config(raw(), changes.raw(), err); });
    }
    /**
     * Flushes, writes checkpoints, gives the directories back. flags: KLOG_CLOSE_ABANDON. KLOG_ERR_TIMED_OUT if that takes
     * longer than timeout, -1 is no limit: it goes on, and can be waited for by another close.
     */
    Result<void> close(std::uint32_t flags = 0, std::chrono::milliseconds timeout = std::chrono::milliseconds(-1)) {
        detail::ErrorPlace err;
        const klog_status status = klog_manager_close(raw(), flags, timeout.count(), &err.raw);
        if (status != KLOG_ERR_TIMED_OUT) release();
        if (status != KLOG_OK) return Error(err.raw);
        return {};
    }

private:
    static klog_log raw_of(const Log *log) noexcept { return log != nullptr ? log->raw() : klog_log{0}; }
};

/** One append of Manager::append_many. The batch must stay until then; what came of it is in the item after it. */
inline klog_packed_item append_item(const Log &log, const Batch &records) noexcept {
    klog_packed_item item{};
    item.log = log.raw();
    item.packed = records.packed().data();
    item.len = records.packed().size();
    return item;
}
/** Of C structs. */
inline klog_append_item append_item(const Log &log, span<const klog_record> records) noexcept {
    klog_append_item item{};
    item.log = log.raw();
    item.records = records.data();
    item.count = records.size();
    return item;
}

/** How far the opening of a directory is, for another thread: klog_manager_open_progress. KLOG_ERR_END while none runs. */
inline Result<klog_open_progress> open_progress(const std::filesystem::path &dir) {
    return detail::call_for(klog_init<klog_open_progress>(), [&](klog_open_progress *out, klog_error *err) {
        const std::string &path = dir.native();
        return klog_manager_open_progress(path.data(), path.size(), out, nullptr, 0, nullptr, err);
    });
}

/** What metric number index is; KLOG_ERR_END behind the last. Its texts are static. */
inline Result<klog_metric> describe_metric(std::uint32_t index) {
    return detail::call_for(klog_init<klog_metric>(),
                            [&](klog_metric *out, klog_error *err) { return klog_metric_describe(index, out, err); });
}

/** Whether this header fits the library that is loaded; for programs that may meet another one. */
inline Result<void> check_library() {
    return detail::call([](klog_error *err) { return klog_abi_check(KLOG_ABI, KLOG_LAYOUT_HASH, err); });
}

} // namespace v0
} // namespace klog

#endif /* KLOG_HPP */
