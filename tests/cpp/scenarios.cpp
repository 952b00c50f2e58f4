/*
 * Runs a scenario of tests/scenarios over klog.hpp. Usage: scenarios FILE.scn DIR [PART_OF_APPENDS PART_OF_ROUNDS]. Each step whose
 * answer differs is told; the end is "N steps, M wrong". KLOG_SEED is the seed of a close race.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "close_race.hpp"
#include "scenario_words.hpp"
#include "together.hpp"

namespace {

using namespace scenario;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/* What a step is answered with if a call of it fails. */
struct Refused {
    std::string text;
};

template <class T>
T must(klog::Result<T> &&result) {
    if (!result) throw Refused{status_text(result.status())};
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

class Runner {
public:
    Runner(fs::path dir, int part_of_appends, int part_of_rounds)
        : dir_(std::move(dir)), part_of_appends_(part_of_appends), part_of_rounds_(part_of_rounds) {
        open();
    }

    std::string step(const Words &words) {
        try {
            return answer(words[0], Words(words.begin() + 1, words.end()));
        } catch (const Refused &refused) {
            return refused.text;
        }
    }

private:
    std::string answer(const std::string &verb, const Words &args) {
        if (verb == "topic") return topic(args);
        if (verb == "now") return now(time_of(args[0]));
        if (verb == "append") return append(args, {});
        if (verb == "append_none") return append({}, {});
        if (verb == "append_as") return append_as(args);
        if (verb == "append_spoiled") return append_spoiled(args);
        if (verb == "read") return read(std::stoll(args[0]), args.size() > 1 ? std::stoull(args[1]) : 0);
        if (verb == "scan") return scan(std::stoll(args[0]));
        if (verb == "find") return find(time_of(args[0]));
        if (verb == "segments") return segments();
        if (verb == "end") return std::to_string(must(log_.end_offset()));
        if (verb == "roll") return std::to_string(must(log_.roll()));
        if (verb == "delete_records") return "start=" + std::to_string(must(log_.delete_records(std::stoll(args[0]))));
        if (verb == "truncate") return must(log_.truncate_to(std::stoll(args[0]))) ? "true" : "false";
        if (verb == "retain") return retain();
        if (verb == "clean") return clean(!args.empty());
        if (verb == "close") return must(manager_.close()), "";
        if (verb == "reopen") return reopen(!args.empty());
        if (verb == "drop_indexes") return drop_indexes();
        if (verb == "add_bytes") return add_bytes(args[0], *value_of(args[1]));
        if (verb == "together") return many_together(args);
        if (verb == "close_race") return race(args);
        return "no verb " + verb;
    }

    void open() {
        klog::Config config = must(klog::Config::broker());
        /* Nothing is done by time: each step asks for what it wants. */
        must(config.set("log.initial.task.delay.ms", "9223372036854775807"));
        klog::ManagerOptions options{0, &config};
        options.now_ms = now_;
        options.recovery_threads = loading_threads;
        manager_ = must(klog::Manager::open(dir_, options));
    }

    void open_topic() {
        klog::Config config = must(klog::Config::topic());
        for (const auto &key : keys_) must(config.set(key.substr(0, key.find('=')), key.substr(key.find('=') + 1)));
        log_ = must(manager_.log(topic_, 0, {KLOG_LOG_CREATE, &config}));
    }

    std::string topic(const Words &args) {
        topic_ = args[0];
        keys_ = Words(args.begin() + 1, args.end());
        open_topic();
        return "";
    }

    std::string now(std::int64_t time) {
        now_ = time;
        must(manager_.tick(now_));
        return "";
    }

    std::string append(const Words &records, klog::AppendOptions options) {
        klog_record_error errors[32];
        for (auto &error : errors) error.record_index = -1;
        options.record_errors = errors;
        klog::Batch batch;
        for (const auto &record : records) add_record(batch, record);
        auto result = log_.append(batch, options);
        if (!result) {
            std::string told = status_text(result.status());
            for (const auto &error : errors)
                if (error.record_index >= 0)
                    told += (&error == errors ? " records=" : ",") + std::to_string(error.record_index);
            return told;
        }
        return std::to_string(result->first_offset) + ".." + std::to_string(result->last_offset) +
               " bytes=" + std::to_string(result->bytes_appended) + " max_ts=" + time_text(result->max_timestamp) +
               " append_time=" + time_text(result->log_append_time_ms) + " start=" + std::to_string(result->log_start_offset);
    }

    std::string append_as(const Words &args) {
        klog::AppendOptions options;
        options.producer_id = std::stoll(args[0]);
        options.producer_epoch = std::stoi(args[1]);
        options.base_sequence = std::stoi(args[2]);
        return append(Words(args.begin() + 3, args.end()), options);
    }

    /* A batch as klog encodes it, one byte of the last record changed. */
    std::string append_spoiled(const Words &records) {
        klog::Batch batch;
        for (const auto &record : records) add_record(batch, record);
        auto bytes = must(klog::encode(batch));
        bytes[bytes.size() - 2] ^= std::byte{1};
        const auto result = must(log_.append_raw(bytes));
        return std::to_string(result.first_offset) + ".." + std::to_string(result.last_offset);
    }

    std::string read(std::int64_t from, std::uint64_t max_bytes) {
        std::vector<std::byte> buffer(1 << 20);
        klog::ReadOptions options;
        options.max_bytes = max_bytes;
        const auto result = must(log_.read(from, buffer, options));
        if (result.bytes == 0) return "empty";
        std::string told = "bytes=" + std::to_string(result.bytes) + " ";
        for (std::size_t at = 0; at < result.bytes;) {
            const auto base = big_endian(&buffer[at], 8);
            told += (at == 0 ? "" : ",") + std::to_string(base) + ".." + std::to_string(base + big_endian(&buffer[at + 23], 4));
            at += static_cast<std::size_t>(12 + big_endian(&buffer[at + 8], 4));
        }
        return told;
    }

    std::string scan(std::int64_t from) {
        klog::Cursor cursor = must(log_.cursor(from));
        std::string told;
        for (auto records = must(cursor.next()); !records.empty(); records = must(cursor.next()))
            for (klog::RecordRef record : records) {
                told += (told.empty() ? "" : " ") + std::to_string(record.offset()) + ":" + text_of(record.key()) + "=" +
                        text_of(record.value()) + "@" + time_text(record.timestamp_ms());
                for (klog::HeaderRef header : record.headers())
                    told += ";" + std::string(header.key()) + "=" + text_of(header.value());
            }
        return told.empty() ? "empty" : told;
    }

    std::string find(std::int64_t time) {
        const auto found = must(log_.offset_for_time(time));
        if (found.offset < 0) return "none";
        return std::to_string(found.offset) + "@" + time_text(found.timestamp_ms) +
               " epoch=" + std::to_string(found.leader_epoch);
    }

    std::string retain() {
        const auto retained = must(manager_.retain(&log_));
        return "deleted=" + std::to_string(retained.segments_deleted) + " start=" + std::to_string(retained.log_start_offset);
    }

    std::string clean(bool rolls) {
        klog::CleanOptions options;
        options.flags = rolls ? KLOG_CLEAN_ROLL : 0U;
        const auto cleaned = must(manager_.clean(&log_, options));
        return "first_dirty=" + std::to_string(cleaned.first_dirty_offset) + " read=" + std::to_string(cleaned.records_read) +
               " kept=" + std::to_string(cleaned.records_kept) + " bytes=" + std::to_string(cleaned.bytes_read) + "->" +
               std::to_string(cleaned.bytes_written);
    }

    std::string reopen(bool unclean) {
        if (unclean) fs::remove(dir_ / ".kafka_cleanshutdown");
        open();
        open_topic();
        return "";
    }

    fs::path log_dir() const { return dir_ / (topic_ + "-0"); }

    std::string segments() {
        std::vector<fs::path> files;
        for (const auto &file : fs::directory_iterator(log_dir()))
            if (file.path().extension() == ".log") files.push_back(file.path());
        std::sort(files.begin(), files.end());
        std::string told;
        for (const auto &file : files)
            told += (told.empty() ? "" : " ") + std::to_string(std::stoll(file.stem().string())) + ":" +
                    std::to_string(fs::file_size(file));
        return told;
    }

    std::string drop_indexes() {
        for (const auto &file : fs::directory_iterator(log_dir()))
            if (file.path().extension().string().find("index") != std::string::npos) fs::remove(file.path());
        return "";
    }

    std::string add_bytes(const std::string &base, const std::string &bytes) {
        const std::string name = std::string(20 - base.size(), '0') + base + ".log";
        std::ofstream(log_dir() / name, std::ios::app | std::ios::binary) << bytes;
        return "";
    }

    std::string many_together(const Words &args) {
        TogetherOptions options;
        options.writers = number_of(args, "writers");
        options.appends = std::max(number_of(args, "appends") / part_of_appends_, 1);
        options.followers = number_of(args, "followers");
        options.roll = number_of(args, "roll");
        options.keys = number_of(args, "keys");
        options.cleans = number_of(args, "clean") != 0;
        return together(manager_, log_, options);
    }

    std::string race(const Words &args) {
        const char *given = std::getenv("KLOG_SEED");
        const auto seed = given != nullptr ? std::stoull(given) : static_cast<unsigned long long>(std::time(nullptr));
        std::fprintf(stderr, "KLOG_SEED=%llu\n", seed);
        must(log_.close());
        must(manager_.close());
        return close_race(dir_, number_of(args, "threads"), std::max(number_of(args, "rounds") / part_of_rounds_, 1), seed);
    }

    static std::int64_t big_endian(const std::byte *bytes, int count) {
        std::uint64_t value = 0;
        for (int at = 0; at < count; at++) value = value << 8 | std::to_integer<std::uint64_t>(bytes[at]);
        return static_cast<std::int64_t>(value);
    }

    fs::path dir_;
    int part_of_appends_, part_of_rounds_;
    std::int64_t now_ = t0;
    klog::Manager manager_;
    klog::Log log_;
    std::string topic_;
    Words keys_;
};

} // namespace

int main(int argc, char **argv) {
    std::ifstream file(argc > 2 ? argv[1] : "");
    if (!file) return 2;
    Runner runner(argv[2], argc > 3 ? std::atoi(argv[3]) : 1, argc > 4 ? std::atoi(argv[4]) : 1);
    int number = 0, steps = 0, wrong = 0;
    for (std::string text; std::getline(file, text);) {
        number++;
        const Line line = split(text);
        if (line.words.empty()) continue;
        steps++;
        const std::string answer = runner.step(line.words);
        if (line.expected ? answer != *line.expected : !answer.empty() && answer.find("..") == std::string::npos) {
            std::printf("line %d: %s: %s, expected %s\n", number, line.words[0].c_str(), answer.c_str(),
                        line.expected ? line.expected->c_str() : "nothing");
            wrong++;
        }
    }
    std::printf("%d steps, %d wrong\n", steps, wrong);
    return wrong != 0;
}
