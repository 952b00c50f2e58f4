/*
 * klog_base.hpp: what klog.hpp stands on: spans, Error and Result, handles that close, records that were lent, and Batch, which
 * collects records. Include klog.hpp.
 */
#ifndef KLOG_BASE_HPP
#define KLOG_BASE_HPP

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "klog.hpp needs C++17 or later; klog.h does not"
#endif

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

#include "klog.h"

#if !defined(KLOG_EXCEPTIONS)
#if defined(__cpp_exceptions)
#define KLOG_EXCEPTIONS 1
#else
#define KLOG_EXCEPTIONS 0
#endif
#endif

namespace klog {
inline namespace v0 {

#if __cplusplus >= 202002L
using std::span;
#else
/** What std::span is in C++20: elements of somebody else, in a row. */
template <class T>
class span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using iterator = T *;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N>
    constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    /** Anything with data() and size() of such elements: a vector, an array, a span of elements that may change. */
    template <class C, class = std::enable_if_t<std::is_convertible_v<
                           std::remove_pointer_t<decltype(std::declval<C &>().data())> (*)[], T (*)[]>>>
    constexpr span(C &&elements) noexcept : data_(elements.data()), size_(elements.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T &operator[](std::size_t at) const noexcept { return data_[at]; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr span subspan(std::size_t from) const noexcept { return span(data_ + from, size_ - from); }
    constexpr span first(std::size_t count) const noexcept { return span(data_, count); }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

/** Bytes of somebody else. */
using bytes_view = span<const std::byte>;

/** The bytes of a text. */
inline bytes_view bytes(std::string_view text) noexcept {
    return bytes_view(reinterpret_cast<const std::byte *>(text.data()), text.size());
}

/** Bytes as a text. */
inline std::string_view text(bytes_view bytes) noexcept {
    return std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

/** Why a call did not do what it should. */
class Error : public std::exception {
public:
    /** Of a call that filled the struct. */
    explicit Error(const klog_error &raw) noexcept : raw_(raw) {}
    /** Of a call that gives a status alone. */
    explicit Error(klog_status status) noexcept : raw_(klog_init<klog_error>()) { raw_.status = status; }

    /** A KLOG_ERR_ constant. */
    klog_status status() const noexcept { return raw_.status; }
    const char *status_name() const noexcept { return klog_status_name(raw_.status); }
    /** What Kafka answers to a client for it. */
    std::int32_t kafka_code() const noexcept { return raw_.kafka_code; }
    const char *kafka_name() const noexcept { return klog_kafka_error_name(raw_.kafka_code); }
    /** The errno of the system, 0 for none. */
    int os_errno() const noexcept { return raw_.os_errno; }
    /** -1 for none, as those below. */
    std::int32_t partition() const noexcept { return raw_.partition; }
    std::int64_t offset() const noexcept { return raw_.offset; }
    std::int64_t position() const noexcept { return raw_.position; }
    std::int32_t record_index() const noexcept { return raw_.record_index; }
    bool is_retriable() const noexcept { return (raw_.flags & KLOG_ERRF_RETRIABLE) != 0; }
    bool is_fatal() const noexcept { return (raw_.flags & KLOG_ERRF_FATAL) != 0; }
    bool is_dir_offline() const noexcept { return (raw_.flags & KLOG_ERRF_DIR_OFFLINE) != 0; }
    bool is_caller_bug() const noexcept { return (raw_.flags & KLOG_ERRF_CALLER_BUG) != 0; }
    std::string_view message() const noexcept { return std::string_view(raw_.message, raw_.message_len); }
    std::filesystem::path path() const { return std::string(raw_.path, raw_.path_len); }
    const klog_error &raw() const noexcept { return raw_; }
    /** The message, or the name of the status. */
    const char *what() const noexcept override { return raw_.message_len > 0 ? raw_.message : status_name(); }

private:
    klog_error raw_;
};

/** A value or an Error. What std::expected is in C++23. */
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) noexcept : held_(std::in_place_index<1>, error) {}

    bool has_value() const noexcept { return held_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }
    T &operator*() & noexcept { return *get(); }
    const T &operator*() const & noexcept { return *get(); }
    T &&operator*() && noexcept { return std::move(*get()); }
    T *operator->() noexcept { return get(); }
    const T *operator->() const noexcept { return get(); }
    const Error &error() const noexcept {
        assert(!has_value());
        return *std::get_if<1>(&held_);
    }
    klog_status status() const noexcept { return has_value() ? KLOG_OK : error().status(); }
    template <class U>
    T value_or(U &&other) && {
        return has_value() ? std::move(*get()) : static_cast<T>(std::forward<U>(other));
    }
#if KLOG_EXCEPTIONS
    /** The value; else the error is thrown. */
    T &value() & {
        if (!has_value()) throw error();
        return *get();
    }
    T &&value() && {
        if (!has_value()) throw error();
        return std::move(*get());
    }
#endif

private:
    T *get() noexcept {
        assert(has_value());
        return std::get_if<0>(&held_);
    }
    const T *get() const noexcept {
        assert(has_value());
        return std::get_if<0>(&held_);
    }

    std::variant<T, Error> held_;
};

/** Nothing, or an Error. */
template <>
class [[nodiscard]] Result<void> {
public:
    Result() noexcept = default;
    Result(Error error) noexcept : error_(error) {}

    bool has_value() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }
    const Error &error() const noexcept {
        assert(!has_value());
        return *error_;
    }
    klog_status status() const noexcept { return has_value() ? KLOG_OK : error_->status(); }
#if KLOG_EXCEPTIONS
    /** If there is an error it is thrown. */
    void value() const {
        if (!has_value()) throw error();
    }
#endif

private:
    std::optional<Error> error_;
};

template <class T>
using result = Result<T>;

namespace detail {

/** Where a call writes its error. Only the size is set before: that is all that a call reads. */
struct ErrorPlace {
    klog_error raw;
    ErrorPlace() noexcept { raw.struct_size = static_cast<std::uint32_t>(sizeof raw); } // NOLINT: the rest is output
};

/** Makes a call and answers with what it came to. */
template <class F>
Result<void> call(F &&f) {
    ErrorPlace err;
    if (f(&err.raw) != KLOG_OK) return Error(err.raw);
    return {};
}

/** Makes a call that writes a T. */
template <class T, class F>
Result<T> call_for(T out, F &&f) {
    ErrorPlace err;
    if (f(&out, &err.raw) != KLOG_OK) return Error(err.raw);
    return out;
}

/** Makes a call that gives a text, of unknown length, again until it fits. */
template <class F>
Result<std::string> call_for_text(F &&f) {
    std::string text;
    for (;;) {
        ErrorPlace err;
        std::size_t needed = 0;
        const klog_status status = f(text.data(), text.size(), &needed, &err.raw);
        if (status == KLOG_OK) {
            text.resize(needed - 1);
            return text;
        }
        if (status != KLOG_ERR_BUFFER_TOO_SMALL) return Error(err.raw);
        text.resize(needed);
    }
}

/** As above, of bytes. */
template <class F>
Result<std::vector<std::byte>> call_for_bytes(F &&f) {
    std::vector<std::byte> bytes;
    for (;;) {
        ErrorPlace err;
        std::size_t needed = 0;
        const klog_status status = f(bytes.data(), bytes.size(), &needed, &err.raw);
        if (status != KLOG_OK && status != KLOG_ERR_BUFFER_TOO_SMALL) return Error(err.raw);
        bytes.resize(needed);
        if (status == KLOG_OK) return bytes;
    }
}

inline klog_status close_manager(klog_manager manager) noexcept { return klog_manager_close(manager, 0, -1, nullptr); }
inline klog_status close_appender(klog_appender appender) noexcept { return klog_appender_close(appender, 0, nullptr); }

/** A handle that is closed at the end. */
template <class Raw, klog_status (*Close)(Raw)>
class Handle {
public:
    /** Without a handle: every call answers KLOG_ERR_NULL_HANDLE. */
    Handle() noexcept = default;
    /** Takes a handle over. */
    explicit Handle(Raw raw) noexcept : raw_(raw) {}
    Handle(Handle &&other) noexcept : raw_(other.release()) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            end();
            raw_ = other.release();
        }
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { end(); }

    /** The handle, which stays this object's. */
    Raw raw() const noexcept { return raw_; }
    /** The handle, which is the caller's to close from now on. */
    Raw release() noexcept { return std::exchange(raw_, Raw{0}); }
    /** Whether there is a handle. */
    explicit operator bool() const noexcept { return raw_.id != 0; }

protected:
    Result<void> close_now() noexcept {
        const klog_status status = Close(release());
        if (status != KLOG_OK) return Error(status);
        return {};
    }

private:
    void end() noexcept {
        if (raw_.id != 0) static_cast<void>(Close(release()));
    }

    Raw raw_ = Raw{0};
};

inline std::optional<bytes_view> nullable(const void *data, std::uint64_t size) noexcept {
    if (data == nullptr) return std::nullopt;
    return bytes_view(static_cast<const std::byte *>(data), static_cast<std::size_t>(size));
}

/** The pointer of bytes that are there: not null, even without any. */
inline const void *there(bytes_view bytes) noexcept {
    return bytes.data() != nullptr ? bytes.data() : static_cast<const void *>("");
}

/** A record of a key, a value and a time. */
inline klog_record plain_record(std::optional<bytes_view> key, std::optional<bytes_view> value,
                                std::int64_t timestamp_ms) noexcept {
    klog_record record{};
    record.key = key ? there(*key) : nullptr;
    record.key_len = key ? key->size() : 0;
    record.value = value ? there(*value) : nullptr;
    record.value_len = value ? value->size() : 0;
    if (timestamp_ms != KLOG_TIMESTAMP_NOW) {
        record.timestamp_ms = timestamp_ms;
        record.flags = KLOG_RECORD_HAS_TIMESTAMP;
    }
    return record;
}

} // namespace detail

/** A header of a record that was lent. */
class HeaderRef {
public:
    explicit HeaderRef(const klog_header &raw) noexcept : raw_(&raw) {}
    std::string_view key() const noexcept { return std::string_view(raw_->key, static_cast<std::size_t>(raw_->key_len)); }
    /** Nothing is a null value. */
    std::optional<bytes_view> value() const noexcept { return detail::nullable(raw_->value, raw_->value_len); }

private:
    const klog_header *raw_;
};

/** Makes a range of references out of an array of C structs. */
template <class Ref, class Raw>
class Range {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Ref;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = Ref;

        iterator() noexcept = default;
        explicit iterator(const Raw *at) noexcept : at_(at) {}
        Ref operator*() const noexcept { return Ref(*at_); }
        iterator &operator++() noexcept {
            ++at_;
            return *this;
        }
        iterator operator++(int) noexcept { return iterator(at_++); }
        friend bool operator==(iterator a, iterator b) noexcept { return a.at_ == b.at_; }
        friend bool operator!=(iterator a, iterator b) noexcept { return a.at_ != b.at_; }

    private:
        const Raw *at_ = nullptr;
    };

    Range() noexcept = default;
    Range(const Raw *data, std::size_t size) noexcept : data_(data), size_(size) {}
    iterator begin() const noexcept { return iterator(data_); }
    iterator end() const noexcept { return iterator(data_ + size_); }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    Ref operator[](std::size_t at) const noexcept { return Ref(data_[at]); }
    /** The C structs, for klog_append and the like. */
    span<const Raw> raw() const noexcept { return span<const Raw>(data_, size_); }

private:
    const Raw *data_ = nullptr;
    std::size_t size_ = 0;
};

using Headers = Range<HeaderRef, klog_header>;

/** A record that was lent: good until the next call on what lent it. */
class RecordRef {
public:
    explicit RecordRef(const klog_record &raw) noexcept : raw_(&raw) {}
    std::int64_t offset() const noexcept { return raw_->offset; }
    /** Milliseconds since 1970, -1 for none. */
    std::int64_t timestamp_ms() const noexcept { return raw_->timestamp_ms; }
    /** Nothing is a null key. */
    std::optional<bytes_view> key() const noexcept { return detail::nullable(raw_->key, raw_->key_len); }
    /** Nothing is a null value: a tombstone. */
    std::optional<bytes_view> value() const noexcept { return detail::nullable(raw_->value, raw_->value_len); }
    /** The key as a text; that of a null one is empty. */
    std::string_view key_text() const noexcept { return text(key().value_or(bytes_view())); }
    std::string_view value_text() const noexcept { return text(value().value_or(bytes_view())); }
    Headers headers() const noexcept { return Headers(raw_->headers, static_cast<std::size_t>(raw_->header_count)); }
    std::int32_t leader_epoch() const noexcept { return raw_->leader_epoch; }
    std::int32_t sequence() const noexcept { return raw_->sequence; }
    bool is_control() const noexcept { return (raw_->flags & KLOG_RECORD_CONTROL) != 0; }
    bool is_transactional() const noexcept { return (raw_->flags & KLOG_RECORD_TRANSACTIONAL) != 0; }
    const klog_record &raw() const noexcept { return *raw_; }

private:
    const klog_record *raw_;
};

/** Records that were lent. */
using Records = Range<RecordRef, klog_record>;

/** A header of a record to be appended. */
struct Header {
    std::string_view key;
    /** Nothing is a null value. */
    std::optional<bytes_view> value;
};

/** Collects records that become one batch, in the packed form. Use it again after clear(): the memory stays. */
class Batch {
public:
    Batch() { clear(); }

    void clear() {
        buffer_.assign(head_bytes, std::byte{0});
        put(0, std::uint32_t{0x3152504b});
        put(4, std::uint32_t{1 | head_bytes << 16});
        put(16, std::int64_t{-1});
        count_ = 0;
        seal();
    }

    /** Adds a record. Nothing is a null key, or a null value. KLOG_TIMESTAMP_NOW is the time of the append. */
    void add(std::optional<bytes_view> key, std::optional<bytes_view> value, std::int64_t timestamp_ms = KLOG_TIMESTAMP_NOW,
             std::initializer_list<Header> headers = {}) {
        add(key, value, timestamp_ms, span<const Header>(headers.begin(), headers.size()));
    }
    void add(std::optional<bytes_view> key, std::optional<bytes_view> value, std::int64_t timestamp_ms,
             span<const Header> headers) {
        const std::size_t at = buffer_.size();
        buffer_.resize(at + entry_head_bytes);
        append(key.value_or(bytes_view()));
        append(value.value_or(bytes_view()));
        const std::size_t headers_at = buffer_.size();
        for (const Header &header : headers) {
            append_number(static_cast<std::uint32_t>(header.key.size()));
            append_number(header.value ? static_cast<std::uint32_t>(header.value->size()) : 0xffffffffU);
            append(bytes(header.key));
            append(header.value.value_or(bytes_view()));
        }
        const std::size_t headers_end = buffer_.size();
        buffer_.resize((headers_end + 7) / 8 * 8);
        put(at, static_cast<std::uint32_t>(buffer_.size() - at));
        buffer_[at + 4] = std::byte{1};
        buffer_[at + 5] = static_cast<std::byte>((key ? 1 : 0) | (value ? 2 : 0));
        put(at + 8, std::int64_t{-1});
        put(at + 16, timestamp_ms);
        put(at + 24, static_cast<std::uint32_t>(key ? key->size() : 0));
        put(at + 28, static_cast<std::uint32_t>(value ? value->size() : 0));
        put(at + 32, static_cast<std::uint32_t>(headers_end - headers_at));
        put(at + 36, static_cast<std::uint32_t>(headers.size()));
        put(at + 44, std::int32_t{-1});
        ++count_;
        seal();
    }
    /** As above, of texts. */
    void add(std::string_view key, std::string_view value, std::int64_t timestamp_ms = KLOG_TIMESTAMP_NOW) {
        add(bytes(key), bytes(value), timestamp_ms);
    }

    std::size_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    /** The packed buffer, as klog_append_packed takes it. */
    bytes_view packed() const noexcept { return bytes_view(buffer_.data(), buffer_.size()); }

private:
    static constexpr std::uint32_t head_bytes = 32;
    static constexpr std::size_t entry_head_bytes = 48;

    /* klog.h is for little-endian machines alone, so numbers lie as they are. */
    template <class N>
    void put(std::size_t at, N number) noexcept {
        std::memcpy(buffer_.data() + at, &number, sizeof number);
    }
    /* Number of entries and bytes, so that the buffer is complete at any time. */
    void seal() noexcept {
        put(8, static_cast<std::uint32_t>(count_));
        put(24, static_cast<std::uint64_t>(buffer_.size()));
    }
    void append_number(std::uint32_t number) {
        const auto *from = reinterpret_cast<const std::byte *>(&number);
        buffer_.insert(buffer_.end(), from, from + sizeof number);
    }
    void append(bytes_view bytes) { buffer_.insert(buffer_.end(), bytes.data(), bytes.data() + bytes.size()); }

    std::vector<std::byte> buffer_;
    std::size_t count_ = 0;
};

} // namespace v0
} // namespace klog

#endif /* KLOG_BASE_HPP */
