/*
 * Uses everything of klog.hpp once, with success and with a failure, and looks at what comes back. Compiled as C++17 to C++23,
 * with and without exceptions and RTTI.
 */
#include "klog.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace {

int checks = 0;

void check(bool condition, const char *what, int line) {
    checks++;
    if (!condition) {
        std::fprintf(stderr, "line %d: %s\n", line, what);
        std::exit(1);
    }
}

#define CHECK(condition) check((condition), #condition, __LINE__)

/* The value of a result that must have one. */
template <class T>
T must(klog::Result<T> &&result, int line) {
    if (!result) {
        std::fprintf(stderr, "line %d: %s: %s\n", line, result.error().status_name(), result.error().what());
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

#define MUST(call) must((call), __LINE__)

static_assert(!std::is_copy_constructible_v<klog::Manager> && std::is_nothrow_move_constructible_v<klog::Manager>);
static_assert(!std::is_copy_constructible_v<klog::View> && std::is_nothrow_move_assignable_v<klog::View>);
static_assert(sizeof(klog::Log) == sizeof(klog_log), "a handle and nothing more");
static_assert(std::is_same_v<klog::result<int>, klog::Result<int>>);

constexpr std::int64_t base_time = 1700000000000;

void append(klog::Log &log) {
    CHECK(MUST(log.append("k0", "v0", base_time)) == 0);
    CHECK(MUST(log.append(std::nullopt, klog::bytes("v1"), base_time + 1)) == 1);
    CHECK(MUST(log.append(klog::bytes(""), std::nullopt, base_time + 2)) == 2);
    klog::Batch batch;
    CHECK(batch.empty());
    for (int n = 3; n < 10; n++) {
        const std::string key = "k" + std::to_string(n);
        batch.add(klog::bytes(key), klog::bytes("value"), base_time + n,
                  {{"source", klog::bytes("test")}, {"none", std::nullopt}});
    }
    klog::AppendOptions zstd;
    zstd.compression = KLOG_COMPRESSION_ZSTD;
    const auto appended = MUST(log.append(batch, zstd));
    CHECK(appended.first_offset == 3 && appended.last_offset == 9 && batch.size() == 7);
    batch.clear();
    batch.add("k10", "v10", base_time + 10);
    zstd.expected_log_end = 99;
    auto refused = log.append(batch, zstd);
    CHECK(!refused && refused.status() == KLOG_ERR_LOG_END_MISMATCH && refused.error().offset() == 10);
    CHECK(refused.error().message().find("99") != std::string_view::npos);
    CHECK(std::string(refused.error().status_name()) == "KLOG_ERR_LOG_END_MISMATCH");
    MUST(log.append(batch));
    const auto batch_bytes = MUST(klog::encode(batch, 0, {}));
    CHECK(MUST(log.append_raw(batch_bytes)).first_offset == 11);
    klog_record record{};
    record.value = "raw";
    record.value_len = 3;
    CHECK(MUST(log.append(klog::span<const klog_record>(&record, 1))).first_offset == 12);
    klog::AppendOptions producer;
    producer.producer_id = 5;
    producer.flags = KLOG_APPEND_TRANSACTIONAL;
    CHECK(MUST(log.append(batch, producer)).first_offset == 13);
    CHECK(MUST(log.producers()).find('5') != std::string::npos);
    CHECK(MUST(log.append_marker(5, 0, false, 0)).first_offset == 14);
    CHECK(MUST(log.aborted_txns(0, 15)).size() == 1);
    CHECK(MUST(log.end_offset()) == 15);
}

void scan(const klog::Log &log) {
    klog::ReadOptions four;
    four.max_records = 4;
    klog::Cursor cursor = MUST(log.cursor(0, four));
    std::int64_t next = 0;
    int calls = 0;
    auto records = cursor.next();
    for (; records && !records->empty(); records = cursor.next(), calls++) {
        CHECK(records->size() <= 4);
        for (klog::RecordRef record : *records) {
            CHECK(record.offset() == next++);
            if (record.offset() == 1) CHECK(!record.key() && record.value_text() == "v1");
            if (record.offset() == 2) CHECK(record.key() && record.key()->empty() && !record.value());
            if (record.offset() == 4) {
                CHECK(record.headers().size() == 2 && record.timestamp_ms() == base_time + 4);
                CHECK(record.headers()[0].key() == "source" && klog::text(*record.headers()[0].value()) == "test");
                CHECK(!record.headers()[1].value() && record.key_text() == "k4" && !record.is_control());
            }
        }
    }
    MUST(std::move(records));
    CHECK(next == 14 && calls >= 4 && cursor.result().log_end_offset == 15);
    MUST(cursor.seek(9));
    std::byte packed[512];
    CHECK(MUST(cursor.next_packed(packed)) > 32);
    MUST(cursor.seek(99));
    CHECK(cursor.next().status() == KLOG_ERR_OFFSET_OUT_OF_RANGE);
    MUST(cursor.close());
    CHECK(cursor.next().status() == KLOG_ERR_NULL_HANDLE);
    CHECK(!cursor.close());
}

void batches(klog::Log &log) {
    std::vector<std::byte> buffer(4096);
    const auto read = MUST(log.read(3, buffer));
    CHECK(read.first_offset == 3 && read.bytes > 0);
    CHECK(log.read(3, klog::span<std::byte>(buffer.data(), 10)).status() == KLOG_ERR_BUFFER_TOO_SMALL);
    klog::View view = MUST(log.view(3));
    CHECK(view.first_offset() == 3 && view.next_offset() == 15 && view.data().size() == read.bytes);
    CHECK(std::memcmp(view.data().data(), buffer.data(), view.data().size()) == 0);
    CHECK(pread(view.fd(), buffer.data(), view.data().size(), static_cast<off_t>(view.position())) ==
          static_cast<ssize_t>(view.data().size()));
    CHECK(std::memcmp(view.data().data(), buffer.data(), view.data().size()) == 0);

    klog::Decoder decoder(view.data());
    std::int64_t next = 3;
    auto records = decoder.next();
    for (; records && !records->empty(); records = decoder.next())
        for (klog::RecordRef record : *records) {
            if (record.offset() > 2 && record.offset() < 10) CHECK(record.headers().size() == 2);
            CHECK(record.offset() == next++);
        }
    MUST(std::move(records));
    CHECK(next == 14 && decoder.left().empty());
    buffer[70] ^= std::byte{1};
    klog::Decoder damaged(klog::bytes_view(buffer.data(), view.data().size()));
    CHECK(damaged.next().status() == KLOG_ERR_CORRUPT_MESSAGE);

    klog::View other = std::move(view);
    CHECK(!view && other && other.data().size() == read.bytes);
    view = std::move(other);
    CHECK(view && !other);
    MUST(view.close());
    CHECK(MUST(log.view(15)).empty());
    CHECK(log.view(16).status() == KLOG_ERR_OFFSET_OUT_OF_RANGE);
}

void offsets(klog::Log &log) {
    CHECK(MUST(log.offset_for_time(base_time + 5)).offset == 5);
    CHECK(MUST(log.offset_for_time(KLOG_TIMESTAMP_EARLIEST)).offset == 0);
    CHECK(MUST(log.offset_for_epoch(0)).end_offset == 15);
    MUST(log.assign_epoch(1, 15));
    CHECK(MUST(log.set_high_watermark(15)) == 15);
    CHECK(MUST(log.info()).log_end_offset == 15);
    MUST(log.flush());
    CHECK(MUST(log.roll()) == 15);
    CHECK(MUST(log.delete_records(4)) == 4);
    CHECK(log.delete_records(99).status() == KLOG_ERR_OFFSET_OUT_OF_RANGE);
    CHECK(MUST(log.truncate_to(14)) && !MUST(log.truncate_to(99)));
    MUST(log.truncate_fully(100));
    CHECK(MUST(log.end_offset()) == 100);
}

void maintenance(klog::Manager &manager, klog::Log &log) {
    CHECK(MUST(manager.list()).find("orders-0") != std::string::npos);
    CHECK(MUST(manager.report()).empty());
    CHECK(MUST(manager.metrics_text()).find("# EOF") != std::string::npos);
    CHECK(MUST(manager.info()).logs == 1);
    klog::Events events = MUST(manager.events(KLOG_EVENT_ROLLED));
    CHECK(events.fd() >= 0 && events.poll().status() == KLOG_ERR_TIMED_OUT);
    MUST(log.append("key", "value"));
    MUST(log.roll());
    CHECK(MUST(events.poll()).find("orders-0") != std::string::npos);
    MUST(manager.retain(&log));
    MUST(manager.retain(nullptr, KLOG_DRY_RUN));
    MUST(manager.flush());
    MUST(manager.refresh());
    MUST(manager.tick(base_time + 1000));
    klog::Config changes = MUST(klog::Config::broker());
    MUST(changes.set("log.retention.ms", "5000"));
    CHECK(changes.set("log.retention.mss", "5000").status() == KLOG_ERR_UNKNOWN_CONFIG);
    CHECK(MUST(changes.get("log.retention.ms")) == "5000");
    MUST(manager.set_config(changes));
    klog::Config topic = MUST(klog::Config::topic());
    MUST(topic.load("retention.ms=7\n"));
    MUST(log.set_config(topic));
    klog::Cancel cancel = MUST(klog::Cancel::create());
    cancel.fire();
    CHECK(!log.move_to(7, std::chrono::milliseconds(1), &cancel));
}

#if KLOG_EXCEPTIONS
void exceptions(const klog::Log &log) {
    try {
        log.view(-5).value();
        CHECK(false);
    } catch (const std::exception &error) {
        CHECK(std::string(error.what()).find("-5") != std::string::npos);
    }
    try {
        klog::Log().flush().value();
        CHECK(false);
    } catch (const klog::Error &error) {
        CHECK(error.status() == KLOG_ERR_NULL_HANDLE && error.is_caller_bug());
    }
    CHECK(log.end_offset().value() > 0);
}
#endif

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const std::filesystem::path dir = argv[1];
    MUST(klog::check_library());
    CHECK(klog::Manager::open(dir / "missing").status() == KLOG_ERR_LOG_DIR_NOT_FOUND);

    klog::Config config = MUST(klog::Config::broker());
    MUST(config.set_topic("orders", "segment.ms", "100000"));
    klog::ManagerOptions options{KLOG_OPEN_CREATE_DIRS, &config};
    options.now_ms = base_time;
    klog::Manager manager = MUST(klog::Manager::open(dir / "data", options));
    auto locked = klog::Manager::open(dir / "data");
    CHECK(locked.status() == KLOG_ERR_DIR_LOCKED && !locked.error().path().empty());
    auto missing = manager.log("orders", 0);
    CHECK(missing.status() == KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION);
    CHECK(std::string(missing.error().kafka_name()) == "UNKNOWN_TOPIC_OR_PARTITION");
    klog::Log log = MUST(manager.log("orders", 0, {KLOG_LOG_CREATE | KLOG_LOG_MANUAL_HW}));
    append(log);
    MUST(log.set_high_watermark(15));
    scan(log);
    batches(log);
    offsets(log);
    maintenance(manager, log);
#if KLOG_EXCEPTIONS
    exceptions(log);
#endif

    /* The manager goes first; what was made of it answers, and a view goes on. */
    klog::View view = MUST(log.view(100));
    klog::Cursor cursor = MUST(log.cursor(100));
    MUST(manager.close());
    CHECK(!manager.close());
    CHECK(log.end_offset().status() == KLOG_ERR_CLOSED && cursor.next().status() == KLOG_ERR_CLOSED);
    CHECK(MUST(klog::Decoder(view.data()).next()).size() == 1);
    MUST(log.close());

    klog::Manager again = MUST(klog::Manager::open({dir / "data"}));
    CHECK(MUST(again.info()).open_handles == 4);
    klog::Log found = MUST(again.log("orders", 0));
    CHECK(MUST(found.end_offset()) == 101);
    MUST(found.delete_log());
    std::printf("%d checks\n", checks);
    return 0;
}
