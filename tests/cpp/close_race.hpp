/*
 * Threads that make every call while their manager is closed: `close_race` of tests/scenarios/README.md.
 */
#ifndef KLOG_TESTS_CLOSE_RACE_HPP
#define KLOG_TESTS_CLOSE_RACE_HPP

#include <functional>
#include <random>

#include "scenario_words.hpp"
#include "together.hpp"

namespace scenario {

/* What the threads of a round work with. */
struct Race {
    klog::Manager manager;
    klog::Log log, compacted;
    klog::Appender appender;
    klog::Waiter waiter;
    klog::Events events;
    std::atomic<int> appends{0};
};

/* A thread of a round. */
class Racer {
public:
    Racer(Race &race, int number, std::uint64_t seed, Verdict &verdict)
        : race_(race), number_(number), verdict_(verdict), random_(seed), manager_(race.manager.raw()) {}
    /* The manager is only lent: its owner closes it meanwhile. */
    ~Racer() { static_cast<void>(manager_.release()); }
    Racer(Racer &&) = delete;

    /* Until a call answers CLOSED. */
    void run() {
        auto cursor = race_.log.cursor(0);
        if (!cursor) return;
        cursor_ = *std::move(cursor);
        const auto calls = all_calls();
        while (verdict_.is_good()) {
            const Call &call = calls[random_() % calls.size()];
            /* Who waits for ever works no more: rare, and the first two never do. */
            if (call.is_endless && (number_ < 2 || random_() % 8 != 0)) continue;
            value_ = std::to_string(number_) + "." + std::to_string(offsets_.size());
            const klog_status status = call.make();
            if (status == KLOG_ERR_CLOSED || status == KLOG_ERR_STALE_HANDLE) return;
            bool is_allowed = status == KLOG_OK && !call.is_endless;
            for (const klog_status also : call.also) is_allowed = is_allowed || status == also;
            if (!is_allowed) verdict_.wrong(std::string(call.name) + ": " + klog_status_name(status));
        }
    }

    /* Every append that was acknowledged is where it was said to be. */
    void check(klog::Log &log) const {
        auto cursor = log.cursor(0);
        if (!cursor) return verdict_.wrong("cursor", cursor.error());
        for (std::size_t n = 0; n < offsets_.size(); n++) {
            const std::string value = std::to_string(number_) + "." + std::to_string(n);
            if (!cursor->seek(offsets_[n])) return verdict_.wrong("seek");
            const auto records = cursor->next();
            if (!records) return verdict_.wrong("next", records.error());
            if (records->empty() || (*records)[0].offset() != offsets_[n] || (*records)[0].value_text() != value)
                verdict_.wrong(value + " is not at " + std::to_string(offsets_[n]));
        }
    }

private:
    struct Call {
        const char *name;
        std::function<klog_status()> make;
        std::vector<klog_status> also = {};
        bool is_endless = false;
    };

    klog_status told(const klog::Result<klog_append_result> &result) {
        return result ? told(result->first_offset) : result.status();
    }
    klog_status told(std::int64_t offset) {
        offsets_.push_back(offset);
        race_.appends++;
        return KLOG_OK;
    }

    klog::Batch batch(std::optional<klog::bytes_view> key = std::nullopt) const {
        klog::Batch batch;
        batch.add(key, klog::bytes(value_), t0);
        return batch;
    }

    klog_status append_to_many() {
        const klog::Batch plain = batch(), keyed = batch(klog::bytes("key"));
        klog_packed_item items[] = {klog::append_item(race_.log, plain), klog::append_item(race_.compacted, keyed)};
        const klog_status status = manager_.append_many(items).status();
        if (status == KLOG_OK || (items[0].status == KLOG_OK && items[1].status != KLOG_OK)) told(items[0].first_offset);
        return status;
    }

    klog_status through_the_appender() {
        const auto ticket = random_() % 2 == 0 ? race_.appender.add(batch())
                                               : race_.appender.add(std::nullopt, klog::bytes(value_), t0);
        return ticket ? told(race_.appender.wait(*ticket)) : ticket.status();
    }

    klog_status wait_cancelled() {
        auto cancel = klog::Cancel::create();
        if (!cancel) return cancel.status();
        cancel->fire();
        klog::WaitOptions options;
        options.cancel = &*cancel;
        return race_.log.wait(never, options).status();
    }

    klog_status wait_shortly() {
        klog::WaitOptions options;
        options.kind = static_cast<std::uint32_t>(random_() % 4);
        options.timeout = std::chrono::milliseconds(1);
        const auto end = race_.log.end_offset();
        return end ? race_.log.wait(*end, options).status() : end.status();
    }

    klog_status read(bool for_ever) {
        std::byte buffer[1024];
        klog::ReadOptions options;
        if (for_ever) {
            options.timeout = std::chrono::milliseconds(-1);
            options.min_bytes = never;
        }
        return race_.log.read(0, buffer, options).status();
    }

    klog_status clean() {
        klog::CleanOptions roll;
        roll.flags = KLOG_CLEAN_ROLL;
        return manager_.clean(&race_.compacted, roll).status();
    }

    klog_status pause() {
        const auto paused = race_.compacted.pause_cleaning();
        return paused ? race_.compacted.resume_cleaning().status() : paused.status();
    }

    klog_status configure() {
        auto config = klog::Config::topic();
        if (!config || !config->set("segment.ms", "100000")) return KLOG_ERR_BUG;
        return race_.log.set_config(*config).status();
    }

    klog_status poll_ready() {
        klog_ready room[4];
        return race_.waiter.poll(room, std::chrono::milliseconds(1)).status();
    }

    klog_status next_packed() {
        std::byte buffer[4096];
        return cursor_.next_packed(buffer).status();
    }

    klog_status short_appender() {
        auto appender = race_.compacted.appender();
        return appender ? appender->add("key", value_, t0).status() : appender.status();
    }

    std::vector<Call> all_calls() {
        klog::Log &log = race_.log;
        return {
            {"append", [&] { return told(log.append(batch())); }},
            {"append_raw", [&] { return told(log.append_raw(*klog::encode(batch()))); }},
            {"append_one", [&] {
                 const auto offset = log.append(std::nullopt, klog::bytes(value_), t0);
                 return offset ? told(*offset) : offset.status();
             }},
            {"append_many", [&] { return append_to_many(); }},
            {"appender", [&] { return through_the_appender(); }},
            {"appender", [&] { return through_the_appender(); }},
            {"appender.flush", [&] { return race_.appender.flush().status(); }},
            {"short appender", [&] { return short_appender(); }},
            {"read", [&] { return read(false); }, {KLOG_ERR_BUFFER_TOO_SMALL}},
            {"wait", [&] { return wait_shortly(); }, {KLOG_ERR_TIMED_OUT}},
            {"wait cancelled", [&] { return wait_cancelled(); }, {KLOG_ERR_CANCELLED}},
            {"arm", [&] { return race_.waiter.arm(log, never).status(); }},
            {"poll", [&] { return poll_ready(); }, {KLOG_ERR_TIMED_OUT}},
            {"events", [&] { return race_.events.poll(std::chrono::milliseconds(1)).status(); }, {KLOG_ERR_TIMED_OUT}},
            {"waiter", [&] { return manager_.waiter().status(); }},
            {"next", [&] { return cursor_.next().status(); }},
            {"next_packed", [&] { return next_packed(); }},
            {"seek", [&] { return cursor_.seek(0).status(); }},
            {"view", [&] { return log.view(0).status(); }},
            {"log", [&] { return manager_.log("race", 0).status(); }},
            {"end_offset", [&] { return log.end_offset().status(); }},
            {"info", [&] { return log.info().status(); }},
            {"offset_for_time", [&] { return log.offset_for_time(t0).status(); }},
            {"manager.info", [&] { return manager_.info().status(); }},
            {"metrics", [&] { return manager_.metrics().status(); }},
            {"list", [&] { return manager_.list().status(); }},
            {"flush", [&] { return log.flush().status(); }},
            {"flush all", [&] { return manager_.flush().status(); }},
            {"roll", [&] { return log.roll().status(); }},
            {"delete_records", [&] { return log.delete_records(0).status(); }},
            {"truncate_to", [&] { return log.truncate_to(never).status(); }},
            {"retain", [&] { return manager_.retain(&log).status(); }},
            {"tick", [&] { return manager_.tick().status(); }},
            {"clean", [&] { return clean(); }, {KLOG_ERR_BUSY, KLOG_ERR_CLEAN_PAUSED, KLOG_ERR_CLEAN_ABORTED}},
            {"pause", [&] { return pause(); }},
            {"cleaning", [&] { return race_.compacted.cleaning().status(); }},
            {"checkpoint", [&] { return manager_.checkpoint(KLOG_CHECKPOINT_RECOVERY_POINT).status(); }},
            {"set_config", [&] { return configure(); }},
            {"read for ever", [&] { return read(true); }, {}, true},
            {"wait for ever", [&] { return log.wait(never).status(); }, {}, true},
            {"await for ever", [&] { return race_.compacted.await_cleaning(never).status(); }, {}, true},
        };
    }

    static constexpr std::int64_t never = std::int64_t{1} << 40;

    Race &race_;
    int number_;
    Verdict &verdict_;
    std::mt19937_64 random_;
    klog::Manager manager_;
    klog::Cursor cursor_;
    std::string value_;
    std::vector<std::int64_t> offsets_;
};

inline void race_once(const std::filesystem::path &dir, int threads, std::mt19937_64 &random, Verdict &verdict) {
    klog::ManagerOptions options;
    options.now_ms = t0;
    options.recovery_threads = loading_threads;
    Race race;
    klog::Config compact = klog::Config::topic().value();
    compact.set("cleanup.policy", "compact").value();
    race.manager = klog::Manager::open(dir, options).value();
    race.log = race.manager.log("race", 0, {KLOG_LOG_CREATE}).value();
    race.compacted = race.manager.log("compacted", 0, {KLOG_LOG_CREATE, &compact}).value();
    race.appender = race.log.appender().value();
    race.waiter = race.manager.waiter().value();
    race.events = race.manager.events().value();

    const int enough = static_cast<int>(random() % 40);
    std::vector<std::unique_ptr<Racer>> racers;
    std::vector<std::thread> running;
    for (int n = 0; n < threads; n++) racers.push_back(std::make_unique<Racer>(race, n, random(), verdict));
    for (const auto &racer : racers) running.emplace_back([&racer = *racer] { racer.run(); });
    while (race.appends < enough && verdict.is_good()) std::this_thread::yield();
    race.manager.close().value();
    for (auto &thread : running) thread.join();

    klog::Manager again = klog::Manager::open(dir, options).value();
    if (again.info().value().segments_recovered != 0) verdict.wrong("segments were recovered");
    klog::Log log = again.log("race", 0).value();
    for (const auto &racer : racers) racer->check(log);
    log.delete_log().value();
    again.close().value();
}

inline std::string close_race(const std::filesystem::path &dir, int threads, int rounds, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Verdict verdict;
    try {
        for (int round = 0; round < rounds && verdict.is_good(); round++) race_once(dir, threads, random, verdict);
    } catch (const klog::Error &error) {
        verdict.wrong("outside of the race", error);
    }
    return verdict.text();
}

} // namespace scenario

#endif
