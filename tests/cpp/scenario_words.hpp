/*
 * How scenarios write things (tests/scenarios/README.md): words of a line, values, times, records, and statuses as they are told.
 */
#ifndef KLOG_TESTS_SCENARIO_WORDS_HPP
#define KLOG_TESTS_SCENARIO_WORDS_HPP

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "klog.hpp"

namespace scenario {

constexpr std::int64_t t0 = 1000000000000;

/* Threads that load and close logs; 0 is as the configuration says. */
#ifdef ONE_LOADS
/* The thread sanitizer does not see that those threads have ended: Rust's library is not instrumented. */
constexpr std::uint32_t loading_threads = 1;
#else
constexpr std::uint32_t loading_threads = 0;
#endif

struct Line {
    std::vector<std::string> words;
    std::optional<std::string> expected;
};

inline Line split(std::string text) {
    Line line;
    text.resize(std::min(text.find('#'), text.size()));
    const auto behind = text.find('>');
    if (behind != std::string::npos) {
        const auto from = text.find_first_not_of(' ', behind + 1);
        line.expected = from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(' ') + 1 - from);
        text.resize(behind);
    }
    std::istringstream words(text);
    for (std::string word; words >> word;) line.words.push_back(word);
    return line;
}

/* NAME=N among the words; 1 for NAME alone, 0 without it. */
inline int number_of(const std::vector<std::string> &words, const std::string &name) {
    for (const auto &word : words) {
        if (word == name) return 1;
        if (word.compare(0, name.size() + 1, name + "=") == 0) return std::stoi(word.substr(name.size() + 1));
    }
    return 0;
}

inline std::int64_t time_of(const std::string &text) {
    if (text.compare(0, 2, "t0") != 0) return std::stoll(text);
    return t0 + (text.size() > 2 ? std::stoll(text.substr(2)) : 0);
}

inline std::string time_text(std::int64_t time) {
    if (time == t0) return "t0";
    if (time > t0 && time < t0 + 1000000000) return "t0+" + std::to_string(time - t0);
    return std::to_string(time);
}

/* bare, null, x'hex', c*N */
inline std::optional<std::string> value_of(const std::string &text) {
    if (text == "null") return std::nullopt;
    if (text.compare(0, 2, "x'") == 0) {
        std::string bytes;
        for (std::size_t at = 2; at + 1 < text.size(); at += 2)
            bytes.push_back(static_cast<char>(std::stoi(text.substr(at, 2), nullptr, 16)));
        return bytes;
    }
    const auto star = text.find('*');
    return star == std::string::npos ? text : std::string(std::stoul(text.substr(star + 1)), text[0]);
}

inline std::optional<klog::bytes_view> bytes_of(const std::optional<std::string> &value) {
    if (!value) return std::nullopt;
    return klog::bytes(*value);
}

/* KEY=VALUE@TIME;NAME=VALUE into a batch. */
inline void add_record(klog::Batch &batch, const std::string &text) {
    const auto header_at = text.find(';');
    const std::string record = text.substr(0, header_at);
    const auto equals = record.find('='), at = record.rfind('@');
    const auto key = value_of(record.substr(0, equals));
    const auto value = value_of(record.substr(equals + 1, at - equals - 1));
    std::string name;
    std::optional<std::string> header_value;
    std::vector<klog::Header> headers;
    if (header_at != std::string::npos) {
        const auto header_equals = text.find('=', header_at);
        name = text.substr(header_at + 1, header_equals - header_at - 1);
        header_value = value_of(text.substr(header_equals + 1));
        headers.push_back({name, bytes_of(header_value)});
    }
    batch.add(bytes_of(key), bytes_of(value), time_of(record.substr(at + 1)), headers);
}

inline std::string status_text(klog_status status) {
    const std::string name = klog_status_name(status);
    return name.compare(0, 9, "KLOG_ERR_") == 0 ? name.substr(9) : name;
}

inline std::string text_of(std::optional<klog::bytes_view> bytes) {
    return bytes ? std::string(klog::text(*bytes)) : "null";
}

} // namespace scenario

#endif
