#include "trace.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>

namespace tenon::serve {
namespace {

// "00-<32 digits of the trace>-<16 of the span>-<2 of flags>", in lower case and neither of zeros.
bool is_traceparent(std::string_view text) {
  const auto is_hex = [&](size_t begin, size_t count) {
    return text.substr(begin, count).find_first_not_of("0123456789abcdef") == std::string::npos;
  };
  const auto is_zero = [&](size_t begin, size_t count) {
    return text.substr(begin, count).find_first_not_of('0') == std::string::npos;
  };
  return text.size() == 55 && text.starts_with("00-") && text[35] == '-' && text[52] == '-'
         && is_hex(3, 32) && is_hex(36, 16) && is_hex(53, 2) && !is_zero(3, 32) && !is_zero(36, 16);
}

// Sixteen digits.
std::string hex(uint64_t number) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016" PRIx64, number);
  return digits.data();
}

uint64_t random_identity() {
  std::random_device random;
  return std::uniform_int_distribution<uint64_t>(1, UINT64_MAX)(random);
}

}  // namespace

Trace::Trace(size_t spans) : identity_(random_identity()) {
  spans_.resize(spans);
}

void Trace::add(Span span) {
  if (!is_on()) return;
  const std::scoped_lock lock(mutex_);
  spans_[count_++ % spans_.size()] = std::move(span);
}

// Workers are threads of one process; what a job waited for is on a track of the job's own, since
// waits overlap.
std::string Trace::json(const std::vector<std::string>& tracks, const std::string& model) const {
  using nlohmann::json;
  const std::scoped_lock lock(mutex_);
  json events = json::array();
  constexpr int kProcess = 1;
  events.push_back({{"ph", "M"},
                    {"name", "process_name"},
                    {"pid", kProcess},
                    {"tid", 0},
                    {"args", {{"name", model.empty() ? "pipeline" : model}}}});
  for (size_t i = 0; i < tracks.size(); ++i)
    events.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", kProcess},
                      {"tid", i},
                      {"args", {{"name", tracks[i]}}}});
  const auto microseconds = [&](Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time - start_).count();
  };
  const size_t held = std::min(count_, spans_.size());
  for (size_t i = count_ - held; i < count_; ++i) {
    const Span& span = spans_[i % spans_.size()];
    json arguments = {{"job", span.job}, {"batch", span.batch}};
    if (!span.correlation_id.empty()) arguments["correlation_id"] = span.correlation_id;
    if (is_traceparent(span.correlation_id)) {
      arguments["trace_id"] = span.correlation_id.substr(3, 32);
      arguments["parent_span_id"] = span.correlation_id.substr(36, 16);
    } else {
      arguments["trace_id"] = hex(identity_) + hex(span.job);
    }
    arguments["span_id"] = hex(identity_ + i);
    const std::string name = name_of(span.stage);
    if (span.is_wait) {
      json event = {{"cat", "job"},    {"id", span.job},    {"name", "wait: " + name},
                    {"pid", kProcess}, {"tid", span.track}, {"args", arguments}};
      event["ph"] = "b";
      event["ts"] = microseconds(span.begin);
      events.push_back(event);
      event["ph"] = "e";
      event["ts"] = microseconds(span.end);
      events.push_back(event);
    } else {
      events.push_back({{"ph", "X"},
                        {"cat", "stage"},
                        {"name", name},
                        {"pid", kProcess},
                        {"tid", span.track},
                        {"ts", microseconds(span.begin)},
                        {"dur", microseconds(span.end) - microseconds(span.begin)},
                        {"args", arguments}});
    }
  }
  // Identifiers are the caller's, of any bytes.
  return json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tenon::serve
