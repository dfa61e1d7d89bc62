#include "request_traces.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <tenon/printable.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "guard.h"

namespace tenon::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kEnd = "\n]\n";

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t nanoseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

template <class T> T number_of(const std::string& text, T min) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end || number < min)
    throw Error{"expected a number of at least " + std::to_string(min) + ", found '"
                + printable(text) + "'"};
  return number;
}

// Triton writes each as a string, or as several.
std::string text_of(const SettingValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  const auto* const texts = std::get_if<std::vector<std::string>>(&value);
  if (texts == nullptr || texts->size() != 1) throw Error{"expected a string"};
  return texts->front();
}

// One, or several as Triton has them.
bool level_of(const SettingValue& value) {
  const auto* const several = std::get_if<std::vector<std::string>>(&value);
  const std::vector<std::string> levels =
      several != nullptr ? *several : std::vector<std::string>{text_of(value)};
  bool is_on = false;
  for (const std::string& level : levels) {
    if (level == "TENSORS") throw Error{"TENSORS is not supported yet"};
    if (level != "OFF" && level != "TIMESTAMPS")
      throw Error{"expected OFF or TIMESTAMPS, found '" + printable(level) + "'"};
    is_on = is_on || level == "TIMESTAMPS";
  }
  return is_on;
}

}  // namespace

std::string trace_text(uint64_t id, const AccessRecord& record, Clock::time_point end) {
  Json request = {{"id", id},
                  {"model_name", cut_text(record.model)},
                  {"model_version", cut_text(record.version)}};
  if (!record.id.empty()) request["request_id"] = cut_text(record.id);
  if (!record.trace.empty()) request["traceparent"] = cut_text(record.trace);
  Json times = Json::array();
  const auto stamp = [&](const char* name, Clock::time_point time) {
    times.push_back({{"name", name}, {"ns", nanoseconds(time)}});
  };
  stamp("REQUEST_START", record.begin);
  stamp("QUEUE_START", record.times.queue);
  stamp("COMPUTE_START", record.times.compute);
  stamp("COMPUTE_END", record.times.end);
  stamp("REQUEST_END", end);
  return text_of(request) + ",\n" + text_of(Json{{"id", id}, {"timestamps", times}});
}

RequestTraces::~RequestTraces() {
  close_file();
}

Result<void> RequestTraces::open(const std::string& file, const SettingChanges& settings) noexcept {
  return session::guard([&] {
    const std::lock_guard lock(mutex_);
    path_ = file;
    SettingChanges of_requests = settings;
    if (const auto frequency = of_requests.extract("log_frequency"); !frequency.empty())
      log_frequency_ = number_of<uint32_t>(text_of(*frequency.mapped()), 0);
    apply(of_requests, of_options_);
    all_.settings = of_options_;
    if (!path_.empty()) open_file();
    are_on_ = of_options_.is_on;
  });
}

// A pipe or a device would hold up requests. The lock is on the file so long as it is open.
void RequestTraces::open_file() {
  const std::string path = log_frequency_ == 0 ? path_ : path_ + "." + std::to_string(files_);
  const auto failed = [&](const std::string& why) {
    close_file();
    return Error{"cannot write traces, " + printable(path) + ": " + why};
  };
  const auto system = [] { return std::generic_category().message(errno); };
  close_file();
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
  if (descriptor_ < 0) throw failed(system());
  struct stat info{};
  if (::fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) throw failed("is no file");
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) throw failed("another server writes to it");
  if (::ftruncate(descriptor_, 0) != 0) throw failed(system());
  size_ = 0;
  of_file_ = 0;
  if (!write("")) throw failed("there is no room for it");
  ++files_;
}

void RequestTraces::close_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

// The file is a whole list after each write, also where there is no room for a trace: then false.
bool RequestTraces::write(const std::string& trace) {
  std::string text = trace;
  if (size_ == 0)
    text = "[\n" + text;
  else if (of_file_ > 0)
    text = ",\n" + text;
  const auto put = [&](const std::string& whole) {
    const ssize_t written = ::pwrite(descriptor_, whole.data(), whole.size(), size_);
    return written == static_cast<ssize_t>(whole.size());
  };
  const std::string end(kEnd);
  if (put(text + end)) {
    size_ += static_cast<int64_t>(text.size());
    if (!trace.empty()) ++of_file_;
    return true;
  }
  const int64_t before = size_ == 0 ? 0 : size_ + static_cast<int64_t>(end.size());
  if (size_ > 0) (void)put(end);
  (void)!::ftruncate(descriptor_, before);
  return false;
}

bool RequestTraces::Sampling::takes() {
  if (!settings.is_on || settings.count == 0 || requests++ % settings.rate != 0) return false;
  if (settings.count > 0) --settings.count;
  return true;
}

RequestTraces::Sampling& RequestTraces::sampling_of(const std::string& model) {
  const auto own = models_.find(model);
  return own == models_.end() ? all_ : own->second;
}

void RequestTraces::add(const AccessRecord& record) noexcept {
  if (!are_on() || !record.times.are_known()) return;
  (void)session::guard([&] {
    const auto end = Clock::now();
    const std::lock_guard lock(mutex_);
    if (!sampling_of(record.model).takes()) return;
    ++lost_;  // unless it is written
    if (descriptor_ < 0 || (log_frequency_ > 0 && of_file_ >= log_frequency_)) open_file();
    std::string trace = trace_text(++traces_, record, end);
    if (lost_ > 1) trace += ",\n" + text_of(Json{{"lost_traces", lost_ - 1}});
    if (write(trace)) lost_ = 0;
  });
}

Settings RequestTraces::settings(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const auto own = models_.find(model);
  const TraceSettings& now = own == models_.end() ? all_.settings : own->second.settings;
  return {{"trace_level", std::vector<std::string>{now.is_on ? "TIMESTAMPS" : "OFF"}},
          {"trace_rate", std::to_string(now.rate)},
          {"trace_count", std::to_string(now.count)},
          {"log_frequency", std::to_string(log_frequency_)},
          {"trace_file", path_},
          {"trace_mode", std::string("triton")}};
}

void RequestTraces::apply(const SettingChanges& own, TraceSettings& to) const {
  const SettingChanges of_server = {{"trace_file", path_},
                                    {"trace_mode", std::string("triton")},
                                    {"log_frequency", std::to_string(log_frequency_)}};
  for (const auto& [name, value] : own) {
    try {
      if (name == "trace_level") {
        to.is_on = value ? level_of(*value) : of_options_.is_on;
        if (to.is_on && path_.empty())
          throw Error{"there is no file: start the server with --trace-config triton,file=PATH"};
      } else if (name == "trace_rate") {
        to.rate = value ? number_of<uint32_t>(text_of(*value), 1) : of_options_.rate;
      } else if (name == "trace_count") {
        to.count = value ? number_of<int64_t>(text_of(*value), -1) : of_options_.count;
      } else if (const auto fixed = of_server.find(name); fixed != of_server.end()) {
        const std::string expected = text_of(*fixed->second);
        if (value && text_of(*value) != expected)
          throw Error{"expected '" + printable(expected) + "', as clients do not change it"};
      } else {
        throw Error{kUnknownSetting};
      }
    } catch (const Error& error) {
      throw Error{setting_error(name, error.text)};
    }
  }
}

// What is left of a count stays where it is not named.
void RequestTraces::change_all(const SettingChanges& wanted) {
  TraceSettings next = all_.settings;
  apply(wanted, next);
  all_.settings = next;
  for (auto& [name, sampling] : models_) {
    const int64_t left = sampling.settings.count;
    sampling.settings = all_.settings;
    apply(sampling.own, sampling.settings);
    if (sampling.own.contains("trace_count")) sampling.settings.count = left;
  }
}

// What is not the model's own is that of all.
void RequestTraces::change_model(const std::string& model, const SettingChanges& wanted) {
  const auto before = models_.find(model);
  Sampling next = before == models_.end() ? Sampling() : before->second;
  const int64_t left = next.settings.count;
  for (const auto& [name, value] : wanted) {
    next.own.erase(name);
    if (value) next.own[name] = value;
  }
  next.settings = all_.settings;
  apply(next.own, next.settings);
  if (next.own.contains("trace_count") && !wanted.contains("trace_count"))
    next.settings.count = left;
  models_[model] = next;
  if (next.own.empty()) models_.erase(model);
}

std::optional<RequestError> RequestTraces::change(const std::string& model,
                                                  const SettingChanges& wanted) {
  if (wanted.empty()) return std::nullopt;
  const auto changed = session::guard([&] {
    const std::lock_guard lock(mutex_);
    model.empty() ? change_all(wanted) : change_model(model, wanted);
    are_on_ = all_.settings.is_on || std::ranges::any_of(models_, [](const auto& of) {
                return of.second.settings.is_on;
              });
  });
  if (changed) return std::nullopt;
  return RequestError{Failure::kInvalid, changed.error()};
}

}  // namespace tenon::server
