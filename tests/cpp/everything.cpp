/*
 * Uses everything of klog.hpp once, with success and with a failure, and looks at what comes back. Compiled as C++17 to C++23,
 * with and without exceptions and RTTI.
 */
#include "klog.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
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
    std::byte unpacked[512];
    klog::Decoder decoder(batch_bytes);
    CHECK(MUST(decoder.next_packed(unpacked)) == batch.packed().size() && MUST(decoder.next_packed(unpacked)) == 0);
    CHECK(MUST(log.append_raw(batch_bytes)).first_offset == 11);
    klog_record record{};
    record.value = "raw";
    record.value_len = 3;
    CHECK(MUST(log.append(klog::span<const klog_record>(&record, 1))).first_offset == 12);
    CHECK(!MUST(klog::encode(klog::span<const klog_record>(&record, 1))).empty());
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

/* Runs what waits in another thread, and what should end it once it waits, or before: both must do. */
template <class Waits, class Ends>
auto ended(Waits &&waits, Ends &&ends) {
    std::optional<decltype(waits())> answer;
    std::thread thread([&] { answer.emplace(waits()); });
    ends();
    thread.join();
    return *std::move(answer);
}

void waiting(klog::Manager &manager, klog::Log &log) {
    using std::chrono::milliseconds;
    const std::int64_t end = MUST(log.end_offset());
    klog::WaitOptions look;
    look.timeout = milliseconds(0);
    CHECK(log.wait(end, look).status() == KLOG_ERR_TIMED_OUT && MUST(log.wait(end - 1)) == end);
    CHECK(MUST(ended([&] { return log.wait(end); }, [&] { MUST(log.append("wake", "up")); })) == end + 1);
    klog::Cancel cancel = MUST(klog::Cancel::create());
    klog::WaitOptions cancelled;
    cancelled.cancel = &cancel;
    CHECK(ended([&] { return log.wait(end + 1, cancelled); }, [&] { cancel.fire(); }).status() == KLOG_ERR_CANCELLED);
    CHECK(log.wait(end, cancelled).status() == KLOG_ERR_CANCELLED);
    cancelled.kind = 99;
    CHECK(log.wait(end, cancelled).status() == KLOG_ERR_INVALID_ARGUMENT);

    /* Reads and cursors that wait: what comes, nothing when the time is up, the token. */
    std::byte buffer[512];
    klog::ReadOptions patient;
    patient.timeout = milliseconds(-1);
    const auto came = ended([&] { return log.read(end + 1, buffer, patient); }, [&] { MUST(log.append("k", "v")); });
    CHECK(came && came->first_offset == end + 1);
    patient.cancel = &cancel;
    CHECK(log.read(end + 2, buffer, patient).status() == KLOG_ERR_CANCELLED);
    patient.timeout = milliseconds(1);
    patient.cancel = nullptr;
    CHECK(MUST(log.read(end + 2, buffer, patient)).bytes == 0);
    const klog::View nothing = MUST(log.view(end + 2, patient));
    CHECK(nothing.empty() && nothing.fd() == -1 && nothing.next_offset() == end + 2);
    klog::Cursor brief = MUST(log.cursor(end + 2, patient));
    CHECK(MUST(brief.next()).empty() && MUST(brief.next_packed(buffer)) == 0 && brief.result().log_end_offset == end + 2);
    klog::Cancel stop = MUST(klog::Cancel::create());
    patient.timeout = milliseconds(-1);
    patient.cancel = &stop;
    klog::Cursor tail = MUST(log.cursor(end + 2, patient));
    auto tailed = ended([&] { return tail.next(); }, [&] { MUST(log.append("k", "tailed")); });
    CHECK(tailed && tailed->size() == 1 && (*tailed)[0].value_text() == "tailed");
    CHECK(ended([&] { return tail.next(); }, [&] { stop.fire(); }).status() == KLOG_ERR_CANCELLED);

    klog::Waiter waiter = MUST(manager.waiter());
    klog_ready room[4];
    CHECK(waiter.fd() >= 0 && waiter.poll(room).status() == KLOG_ERR_TIMED_OUT);
    MUST(waiter.arm(log, end + 3, 7));
    look.kind = KLOG_WAIT_DURABLE;
    MUST(waiter.arm(log, end + 3, 8, look));
    const auto late = MUST(waiter.poll(room));
    CHECK(late.size() == 1 && late[0].user_data == 8 && late[0].status == KLOG_ERR_TIMED_OUT && late[0].offset == -1);
    const auto ready = MUST(ended([&] { return waiter.poll(room, milliseconds(-1)); }, [&] { MUST(log.append("k", "v")); }));
    CHECK(ready.size() == 1 && ready[0].user_data == 7 && ready[0].offset == end + 4 && ready[0].log.id == log.raw().id);
    CHECK(waiter.arm(log, 0, 9, cancelled).status() == KLOG_ERR_INVALID_ARGUMENT);
    klog::Waiter other = std::move(waiter);
    CHECK(waiter.poll(room).status() == KLOG_ERR_NULL_HANDLE && other.fd() >= 0);
    MUST(other.close());
    klog::Events events = MUST(manager.events());
    CHECK(events.poll(milliseconds(-1), &stop).status() == KLOG_ERR_CANCELLED);
}

void many(klog::Manager &manager, klog::Log &log) {
    const std::int64_t end = MUST(log.end_offset());
    klog::AppenderOptions lots;
    lots.append.compression = KLOG_COMPRESSION_LZ4;
    klog::Appender appender = MUST(log.appender(lots));
    const auto one = MUST(appender.add("k", "one", base_time));
    klog::Batch batch;
    batch.add("k", "two", base_time);
    batch.add("k", "three", base_time);
    const auto two = MUST(appender.add(batch));
    CHECK(one > 0 && two > one);
    CHECK(MUST(appender.wait(two)).first_offset == end + 1 && MUST(appender.wait(one)).first_offset == end);
    CHECK(MUST(appender.wait(two)).records == 2 && MUST(log.end_offset()) == end + 3);
    klog::Cancel fired = MUST(klog::Cancel::create());
    fired.fire();
    const auto three = MUST(appender.add(std::nullopt, klog::bytes("four"), base_time));
    CHECK(appender.wait(three, std::chrono::milliseconds(-1), &fired).status() == KLOG_ERR_CANCELLED);
    MUST(appender.flush());
    CHECK(MUST(appender.wait(three)).last_offset == end + 3);
    CHECK(appender.wait(99).status() == KLOG_ERR_INVALID_ARGUMENT);
    MUST(appender.add("k", "five", base_time));
    MUST(appender.close());
    CHECK(MUST(log.end_offset()) == end + 5 && appender.flush().status() == KLOG_ERR_NULL_HANDLE);
    appender = MUST(log.appender());
    MUST(appender.add("k", "dropped"));
    MUST(appender.close(KLOG_CLOSE_DISCARD));
    {
        klog::Appender brief = MUST(log.appender());
        MUST(brief.add("k", "six"));
    }
    CHECK(MUST(log.end_offset()) == end + 6);
    klog::AppenderOptions wrong;
    wrong.append.expected_log_end = 1;
    CHECK(log.appender(wrong).status() == KLOG_ERR_INVALID_ARGUMENT);

    klog::Log second = MUST(manager.log("payments", 0, {KLOG_LOG_CREATE}));
    klog_packed_item items[] = {klog::append_item(log, batch), klog::append_item(second, batch),
                                klog::append_item(klog::Log(), batch)};
    CHECK(manager.append_many(klog::span<klog_packed_item>(items, 2)) && items[0].first_offset == end + 6);
    CHECK(items[1].last_offset == 1 && items[1].status == KLOG_OK);
    CHECK(manager.append_many(items).status() == KLOG_ERR_NULL_HANDLE && items[2].first_offset == -1);
    CHECK(items[0].status == KLOG_OK && items[2].status == KLOG_ERR_NULL_HANDLE && MUST(second.end_offset()) == 4);
    klog_record record{};
    record.value = "raw";
    record.value_len = 3;
    klog_append_item item[] = {klog::append_item(second, klog::span<const klog_record>(&record, 1))};
    CHECK(manager.append_many(item) && item[0].first_offset == 4);
    MUST(second.delete_log());
}

void cleaning(klog::Manager &manager) {
    klog::Config compact = MUST(klog::Config::topic());
    MUST(compact.set("cleanup.policy", "compact"));
    klog::Log log = MUST(manager.log("prices", 0, {KLOG_LOG_CREATE, &compact}));
    for (int n = 0; n < 10; n++) MUST(log.append(n % 2 == 0 ? "even" : "odd", std::to_string(n)));
    klog::CleanOptions roll;
    roll.flags = KLOG_CLEAN_ROLL | KLOG_DRY_RUN;
    CHECK(MUST(manager.clean(&log, roll)).records_kept == 2 && MUST(log.info()).segments <= 2);
    MUST(log.pause_cleaning());
    roll.flags = KLOG_CLEAN_ROLL;
    CHECK(manager.clean(&log, roll).status() == KLOG_ERR_CLEAN_PAUSED);
    MUST(log.resume_cleaning());
    CHECK(log.resume_cleaning().status() == KLOG_ERR_INVALID_ARGUMENT);
    CHECK(log.await_cleaning(10, std::chrono::milliseconds(0)).status() == KLOG_ERR_TIMED_OUT);
    const auto cleaned = MUST(manager.clean(&log, roll));
    CHECK(cleaned.records_read == 10 && cleaned.records_kept == 2 && cleaned.first_dirty_offset == 10);
    MUST(log.await_cleaning(10));
    CHECK(MUST(log.cleaning()).phase == KLOG_CLEAN_PHASE_IDLE);
    MUST(manager.clean());
    klog::Cancel fired = MUST(klog::Cancel::create());
    fired.fire();
    roll.cancel = &fired;
    roll.first_dirty_offset = 0;
    CHECK(manager.clean(&log, roll).status() == KLOG_ERR_CANCELLED);
    MUST(log.delete_log());
}

void told(klog::Manager &manager, const klog::Log &log) {
    std::uint32_t count = 0;
    while (klog::describe_metric(count)) count++;
    CHECK(klog::describe_metric(count).status() == KLOG_ERR_END && *MUST(klog::describe_metric(0)).name != 0);
    CHECK(MUST(manager.metrics()).size() == count && MUST(manager.metrics(&log)).size() == count);
    CHECK(MUST(klog::Config::describe(0)).find("type") != std::string::npos || !MUST(klog::Config::describe(0)).empty());
    CHECK(klog::Config::describe(10000).status() == KLOG_ERR_END);
    const auto dir = MUST(manager.dir(0));
    CHECK(dir.second == KLOG_OK && dir.first.filename() == "data" && manager.dir(1).status() == KLOG_ERR_END);
    CHECK(klog::open_progress(dir.first).status() == KLOG_ERR_END);
    MUST(manager.checkpoint(KLOG_CHECKPOINT_RECOVERY_POINT));
    MUST(manager.own(0, "a-cluster", 1));
    CHECK(manager.own(0, "another", 1).status() == KLOG_ERR_INVALID_ARGUMENT);
    CHECK(!manager.retry("none", 0) && !manager.resolve("none", 0, 0) && !manager.promote("none", 0));
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
    told(manager, log);
    {
        klog::Log other = MUST(manager.log("other", 0, {KLOG_LOG_CREATE}));
        MUST(other.append("first", "record"));
        waiting(manager, other);
        many(manager, other);
        cleaning(manager);
        MUST(other.delete_log());
    }
#if KLOG_EXCEPTIONS
    exceptions(log);
#endif

    /* The manager goes first; what was made of it answers, and a view goes on. */
    klog::View view = MUST(log.view(100));
    klog::Cursor cursor = MUST(log.cursor(100));
    klog::Appender appender = MUST(log.appender());
    const auto lost = MUST(appender.add("k", "lost"));
    klog::Waiter waiter = MUST(manager.waiter());
    klog_ready room[1];
    CHECK(ended([&] { return log.wait(101); }, [&] { MUST(manager.close()); }).status() == KLOG_ERR_CLOSED);
    CHECK(!manager.close() && appender.add("k", "v").status() == KLOG_ERR_CLOSED);
    CHECK(waiter.poll(room).status() == KLOG_ERR_CLOSED && appender.wait(lost).status() == KLOG_ERR_CLOSED);
    CHECK(appender.flush().status() == KLOG_ERR_CLOSED);
    CHECK(log.end_offset().status() == KLOG_ERR_CLOSED && cursor.next().status() == KLOG_ERR_CLOSED);
    CHECK(MUST(klog::Decoder(view.data()).next()).size() == 1);
    MUST(log.close());

    klog::Manager again = MUST(klog::Manager::open({dir / "data"}));
    CHECK(MUST(again.info()).open_handles == 6);
    klog::Log found = MUST(again.log("orders", 0));
    CHECK(MUST(found.end_offset()) == 101);
    MUST(found.delete_log());
    std::printf("%d checks\n", checks);
    return 0;
}
