#include "access_log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <tenon/printable.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "guard.h"

namespace tenon::server {
namespace {

constexpr size_t kMostLines = 10'000;

// "2026-01-31T09:05:00.000123Z".
std::string time_text(std::chrono::system_clock::time_point now) {
  using std::chrono::duration_cast;
  const auto since = now.time_since_epoch();
  const std::time_t seconds = duration_cast<std::chrono::seconds>(since).count();
  const auto micro = duration_cast<std::chrono::microseconds>(since).count() % 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%06dZ", static_cast<int>(micro));
  return text;
}

int64_t microseconds(Clock::duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

// A pipe by name has no writer that waits for a reader: it may come later, or again.
int open_log(const std::string& path) {
  if (path == "-") return ::dup(STDOUT_FILENO);
  struct stat info{};
  const bool is_pipe = ::stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
  return ::open(path.c_str(), (is_pipe ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

}  // namespace

std::string cut_text(const std::string& text) {
  constexpr size_t kLongest = 256;
  return text.substr(0, kLongest);
}

std::string access_line(const AccessRecord& record, std::chrono::system_clock::time_point now,
                        Clock::time_point end) {
  nlohmann::ordered_json line = {{"time", time_text(now)}};
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) line[name] = cut_text(text);
  };
  add("protocol", record.protocol);
  add("remote", record.remote);
  add("method", record.method);
  add("path", record.path);
  add("model", record.model);
  add("version", record.version);
  add("id", record.id);
  add("status", record.status);
  line["bytes_in"] = record.bytes_in;
  line["bytes_out"] = record.bytes_out;
  line["duration_us"] = microseconds(end - record.begin);
  if (record.times.are_known()) {
    line["queue_us"] = microseconds(record.times.compute - record.times.queue);
    line["compute_us"] = microseconds(record.times.end - record.times.compute);
  }
  add("trace", record.trace);
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::string& path) noexcept {
  return session::guard([&] {
    const int descriptor = open_log(path);
    if (descriptor < 0)
      throw Error{"cannot write the access log, " + printable(path) + ": "
                  + std::generic_category().message(errno)};
    return std::unique_ptr<AccessLog>(new AccessLog(descriptor));
  });
}

AccessLog::~AccessLog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
  ::close(descriptor_);
}

void AccessLog::add(const AccessRecord& record) noexcept {
  (void)session::guard([&] {
    std::string line = access_line(record, std::chrono::system_clock::now(), Clock::now());
    {
      const std::lock_guard lock(mutex_);
      if (lines_.size() >= kMostLines)
        ++lost_;
      else
        lines_.push_back(std::move(line));
    }
    changed_.notify_one();
  });
}

// In parts that a pipe takes whole once it has room: a pipe that nobody reads is waited for, but
// the end is not held up by it.
bool AccessLog::write_all(std::string_view text) {
  constexpr int kPatience = 100;  // milliseconds
  while (!text.empty()) {
    pollfd to{descriptor_, POLLOUT, 0};
    if (::poll(&to, 1, kPatience) == 0) {
      const std::lock_guard lock(mutex_);
      if (is_over_) return false;
      continue;
    }
    const ssize_t written =
        ::write(descriptor_, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void AccessLog::run() {
  for (bool is_over = false; !is_over;) {
    std::vector<std::string> lines;
    size_t lost = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_over_ || !lines_.empty(); });
      lines.swap(lines_);
      lost = std::exchange(lost_, 0);
      is_over = is_over_;
    }
    std::string text;
    for (const std::string& line : lines) (text += line) += '\n';
    if (lost > 0) text += R"({"lost_lines":)" + std::to_string(lost) + "}\n";
    if (write_all(text)) continue;
    const std::lock_guard lock(mutex_);
    lost_ += lost + lines.size();
  }
}

}  // namespace tenon::server
