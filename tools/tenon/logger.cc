#include "logger.h"

#include <cstdio>
#include <ctime>
#include <utility>

namespace tenon::tool {

std::string line_prefix(char severity) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[48];
  const size_t n = std::strftime(text, sizeof text, "[%m/%d/%Y-%H:%M:%S] [", &local);
  return std::string(text, n) + severity + "] ";
}

void Logger::log(Severity severity, const char* text) noexcept {
  const std::lock_guard lock(mutex_);
  if (severity <= Severity::kERROR) {
    if (first_error_.empty()) first_error_ = text;
    if (least_ < Severity::kVERBOSE) return;
  }
  if (severity > least_) return;
  constexpr char kLetters[] = {'F', 'E', 'W', 'I', 'V'};
  std::fprintf(stderr, "%s%s\n", line_prefix(kLetters[static_cast<int>(severity)]).c_str(), text);
}

std::string Logger::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(first_error_, {});
}

void Logger::say(const std::string& text) {
  std::printf("%s%s\n", line_prefix('I').c_str(), text.c_str());
  std::fflush(stdout);
}

}  // namespace tenon::tool
