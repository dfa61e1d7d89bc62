#include "request_traces.h"

#include <fcntl.h>
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

bool level_of(const std::string& text) {
  if (text == "TENSORS") throw Error{"TENSORS is not supported yet"};
  if (text != "OFF" && text != "TIMESTAMPS")
    throw Error{"expected OFF or TIMESTAMPS, found '" + printable(text) + "'"};
  return text == "TIMESTAMPS";
}

// Triton writes each as a string, or as several.
std::string text_of(const SettingValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  const auto* const texts = std::get_if<std::vector<std::string>>(&value);
  if (texts == nullptr || texts->size() != 1) throw Error{"expected a string"};
  return texts->front();
}

RequestError refusal(const std::string& name, const std::string& text) {
  return {Failure::kInvalid, "setting '" + printable(name) + "': " + text};
}

}  // namespace

std::string trace_text(uint64_t id, const AccessRecord& record, Clock::time_point end) {
  Json request = {{"id", id}, {"model_name", record.model}, {"model_version", record.version}};
  const auto add = [&](const char* name, const std::string& text) {
    constexpr size_t kLongest = 256;
    if (!text.empty()) request[name] = text.substr(0, kLongest);
  };
  add("request_id", record.id);
  add("traceparent", record.trace);
  Json times = Json::array();
  const auto stamp = [&](const char* name, Clock::time_point time) {
    times.push_back({{"name", name}, {"ns", nanoseconds(time)}});
  };
  stamp("REQUEST_START", record.begin);
  if (record.times.are_known()) {
    stamp("QUEUE_START", record.times.queue);
    stamp("COMPUTE_START", record.times.compute);
    stamp("COMPUTE_END", record.times.end);
  }
  stamp("REQUEST_END", end);
  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  return text(request) + ",\n" + text({{"id", id}, {"timestamps", times}});
}

RequestTraces::~RequestTraces() {
  close_file();
}

Result<void> RequestTraces::open(const std::string& file, const SettingChanges& settings) noexcept {
  return session::guard([&] {
    const std::lock_guard lock(mutex_);
    path_ = file;
    apply(settings, first_);
    all_.settings = first_;
    if (!path_.empty()) session::value_of(open_file());
    are_on_ = first_.is_on;
  });
}

// A pipe or a device would hold up requests.
Result<void> RequestTraces::open_file() {
  return session::guard([&] {
    const std::string path =
        all_.settings.log_frequency == 0 ? path_ : path_ + "." + std::to_string(files_);
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0640);
    struct stat info{};
    if (descriptor_ >= 0 && (::fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode))) {
      ::close(descriptor_);
      descriptor_ = -1;
      errno = EINVAL;
    }
    if (descriptor_ < 0)
      throw Error{"cannot write traces, " + printable(path) + ": "
                  + std::generic_category().message(errno)};
    ++files_;
    of_file_ = 0;
    size_ = 0;
    write("");
  });
}

void RequestTraces::close_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

// The file is a whole list after each write, also where there is no room for a trace.
void RequestTraces::write(const std::string& trace) {
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
    return;
  }
  (void)put(end);
  (void)!::ftruncate(descriptor_, size_ + static_cast<int64_t>(end.size()));
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
  if (!are_on() || record.model.empty()) return;
  (void)session::guard([&] {
    const auto end = Clock::now();
    const std::lock_guard lock(mutex_);
    if (!sampling_of(record.model).takes()) return;
    if (all_.settings.log_frequency > 0 && of_file_ >= all_.settings.log_frequency) {
      close_file();
      if (!open_file()) return;
    }
    if (descriptor_ >= 0) write(trace_text(++traces_, record, end));
  });
}

Settings RequestTraces::settings(const std::string& model) const {
  const std::lock_guard lock(mutex_);
  const auto own = models_.find(model);
  const TraceSettings& now = own == models_.end() ? all_.settings : own->second.settings;
  return {{"trace_level", std::vector<std::string>{now.is_on ? "TIMESTAMPS" : "OFF"}},
          {"trace_rate", std::to_string(now.rate)},
          {"trace_count", std::to_string(now.count)},
          {"log_frequency", std::to_string(all_.settings.log_frequency)},
          {"trace_file", path_},
          {"trace_mode", std::string("triton")}};
}

void RequestTraces::apply(const SettingChanges& own, TraceSettings& to) const {
  for (const auto& [name, value] : own) {
    try {
      if (name == "trace_level") {
        to.is_on = value ? level_of(text_of(*value)) : first_.is_on;
        if (to.is_on && path_.empty())
          throw Error{"there is no file: start the server with --trace-config triton,file=PATH"};
      } else if (name == "trace_rate") {
        to.rate = value ? number_of<uint32_t>(text_of(*value), 1) : first_.rate;
      } else if (name == "trace_count") {
        to.count = value ? number_of<int64_t>(text_of(*value), -1) : first_.count;
      } else if (name == "log_frequency") {
        to.log_frequency = value ? number_of<uint32_t>(text_of(*value), 0) : first_.log_frequency;
      } else if (name == "trace_file" || name == "trace_mode") {
        if (value && text_of(*value) != (name == "trace_file" ? path_ : "triton"))
          throw Error{"only --trace-config changes it"};
      } else {
        throw Error{"there is none of that name"};
      }
    } catch (const Error& error) {
      throw Error{refusal(name, error.text).text};
    }
  }
}

std::optional<RequestError> RequestTraces::change(const std::string& model,
                                                  const SettingChanges& wanted) {
  const auto changed = session::guard([&] {
    const std::lock_guard lock(mutex_);
    if (model.empty()) {
      TraceSettings next = all_.settings;
      apply(wanted, next);
      const bool other_files = next.log_frequency != all_.settings.log_frequency;
      all_.settings = next;
      if (other_files && descriptor_ >= 0) {
        close_file();
        session::value_of(open_file());
      }
    } else {
      Sampling next{models_.contains(model) ? models_[model].own : SettingChanges(), {}, 0};
      for (const auto& [name, value] : wanted) {
        if (name == "log_frequency" && value)
          throw Error{refusal(name, "files are of all models").text};
        next.own.erase(name);
        if (value) next.own[name] = value;  // else that of all
      }
      next.settings = all_.settings;
      apply(next.own, next.settings);
      if (next.own.empty())
        models_.erase(model);
      else
        models_[model] = std::move(next);
    }
    for (auto& [name, sampling] : models_) {
      if (!model.empty()) break;
      sampling.settings = all_.settings;
      apply(sampling.own, sampling.settings);
    }
    are_on_ = all_.settings.is_on || std::ranges::any_of(models_, [](const auto& of) {
                return of.second.settings.is_on;
              });
  });
  if (changed) return std::nullopt;
  return RequestError{Failure::kInvalid, changed.error()};
}

}  // namespace tenon::server
