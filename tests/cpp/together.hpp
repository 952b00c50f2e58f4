/*
 * Writers, followers and the cleaner on one log: `together` of tests/scenarios/README.md.
 */
#ifndef KLOG_TESTS_TOGETHER_HPP
#define KLOG_TESTS_TOGETHER_HPP

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "scenario_words.hpp"

namespace scenario {

struct TogetherOptions {
    int writers = 0, appends = 0, followers = 0, roll = 0, keys = 0;
    bool cleans = false;
};

/* What is wrong first, of all threads. */
class Verdict {
public:
    void wrong(const std::string &what) {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (first_.empty()) first_ = what;
    }
    void wrong(const char *call, const klog::Error &error) { wrong(std::string(call) + ": " + error.status_name() + ": " + error.what()); }
    bool is_good() {
        const std::lock_guard<std::mutex> guard(mutex_);
        return first_.empty();
    }
    std::string text() { return is_good() ? "ok" : first_; }

private:
    std::mutex mutex_;
    std::string first_;
};

class Together {
public:
    Together(klog::Manager &manager, klog::Log &log, const TogetherOptions &options)
        : manager_(manager), log_(log), options_(options), total_(std::int64_t{options.writers} * options.appends),
          told_(new std::atomic<std::int64_t>[static_cast<std::size_t>(total_)]) {
        for (std::int64_t offset = 0; offset < total_; offset++) at(offset) = 0;
    }

    std::string run() {
        std::vector<std::thread> threads;
        std::atomic<bool> is_done{false};
        for (int w = 0; w < options_.writers; w++) threads.emplace_back([this, w] { write(w); });
        for (int f = 0; f < options_.followers; f++) threads.emplace_back([this] { follow(); });
        std::thread cleaner([&] {
            while (options_.cleans && !is_done && verdict_.is_good()) clean();
        });
        for (auto &thread : threads) thread.join();
        is_done = true;
        cleaner.join();
        if (!verdict_.is_good()) return verdict_.text();
        if (options_.cleans) clean();
        const auto left = follow();
        if (options_.cleans && left.size() != static_cast<std::size_t>(std::min(options_.keys, options_.appends)))
            verdict_.wrong(std::to_string(left.size()) + " records are left");
        for (const auto &[key, offset] : last_of_keys())
            if (options_.cleans && left.find(offset) == left.end()) verdict_.wrong("the last " + key + " is not there");
        return verdict_.text();
    }

private:
    std::atomic<std::int64_t> &at(std::int64_t offset) { return told_[static_cast<std::size_t>(offset)]; }

    std::string value_of(std::int64_t record) const {
        return std::to_string(record / options_.appends) + "." + std::to_string(record % options_.appends);
    }
    std::string key_of(std::int64_t record) const {
        return options_.keys == 0 ? value_of(record) : "k" + std::to_string(record % options_.appends % options_.keys);
    }

    void write(int writer) {
        std::int64_t before = -1;
        for (int n = 0; n < options_.appends && verdict_.is_good(); n++) {
            const std::int64_t record = std::int64_t{writer} * options_.appends + n;
            const auto offset = log_.append(key_of(record), value_of(record), t0);
            if (!offset) return verdict_.wrong("append", offset.error());
            std::int64_t nobody = 0;
            if (*offset <= before || *offset >= total_ || !at(*offset).compare_exchange_strong(nobody, record + 1))
                return verdict_.wrong("offset " + std::to_string(*offset) + " after " + std::to_string(before));
            before = *offset;
            if (before % options_.roll == options_.roll - 1) {
                const auto rolled = log_.roll();
                if (!rolled) return verdict_.wrong("roll", rolled.error());
            }
        }
    }

    /* The records from the front to the last offset, waiting for them if need be. */
    std::map<std::int64_t, std::int64_t> follow() {
        std::map<std::int64_t, std::int64_t> seen;
        klog::ReadOptions patient;
        patient.timeout = std::chrono::milliseconds(1000);
        auto cursor = log_.cursor(0, patient);
        std::int64_t before = -1;
        while (cursor && before < total_ - 1 && verdict_.is_good()) {
            const auto records = cursor->next();
            if (!records) {
                verdict_.wrong("next", records.error());
                break;
            }
            for (klog::RecordRef record : *records) {
                std::int64_t told;
                /* A reader may see a record before its writer is told of it. */
                while ((told = at(record.offset())) == 0 && verdict_.is_good()) std::this_thread::yield();
                if (options_.cleans ? record.offset() <= before : record.offset() != before + 1)
                    verdict_.wrong(std::to_string(record.offset()) + " after " + std::to_string(before));
                if (record.key_text() != key_of(told - 1) || record.value_text() != value_of(told - 1))
                    verdict_.wrong("offset " + std::to_string(record.offset()) + " is not the record that was appended");
                before = record.offset();
                seen.emplace(before, told - 1);
            }
        }
        return seen;
    }

    void clean() {
        for (const bool is_dry : {true, false}) {
            klog::CleanOptions options;
            options.flags = is_dry ? KLOG_CLEAN_ROLL | KLOG_DRY_RUN : KLOG_CLEAN_ROLL;
            const auto cleaned = manager_.clean(&log_, options);
            if (!cleaned) verdict_.wrong("clean", cleaned.error());
        }
    }

    std::map<std::string, std::int64_t> last_of_keys() {
        std::map<std::string, std::int64_t> last;
        for (std::int64_t offset = 0; options_.cleans && offset < total_; offset++) last[key_of(at(offset) - 1)] = offset;
        return last;
    }

    klog::Manager &manager_;
    klog::Log &log_;
    TogetherOptions options_;
    std::int64_t total_;
    /* For each offset the record whose writer was told of it, writer * appends + number, and 1; 0 for nobody yet. */
    std::unique_ptr<std::atomic<std::int64_t>[]> told_;
    Verdict verdict_;
};

inline std::string together(klog::Manager &manager, klog::Log &log, const TogetherOptions &options) {
    return Together(manager, log, options).run();
}

} // namespace scenario

#endif
