#include "logger.h"

#include <tenon/printable.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace tenon::tool {

std::string line_prefix(char severity) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[48];
  const size_t n = std::strftime(text, sizeof text, "[%m/%d/%Y-%H:%M:%S] [", &local);
  return std::string(text, n) + severity + "] ";
}

// The library says first in which function it happened ("setInputShape: ..."): that is for
// programmers.
static const char* without_function(const char* text) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  const char* const end = std::find_if_not(text, text + std::strlen(text), is_word);
  const bool is_function =
      std::islower(static_cast<unsigned char>(*text)) && std::any_of(text, end, [](char c) {
        return c == '_' || std::isupper(static_cast<unsigned char>(c));
      });
  return is_function && end[0] == ':' && end[1] == ' ' ? end + 2 : text;
}

void Logger::log(Severity severity, const char* text) noexcept {
  if (severity <= Severity::kERROR) {
    keep(without_function(text));
    if (min_severity_ < Severity::kVERBOSE) return;
  }
  if (severity > min_severity_) return;
  const std::lock_guard lock(mutex_);
  constexpr char kLetters[] = {'F', 'E', 'W', 'I', 'V'};
  std::fprintf(stderr, "%s%s\n", line_prefix(kLetters[static_cast<int>(severity)]).c_str(),
               printable(text, true).c_str());
}

void Logger::say(const std::string& text) {
  std::printf("%s%s\n", line_prefix('I').c_str(), printable(text).c_str());
  std::fflush(stdout);
}

void Logger::note(const std::string& text) {
  std::fprintf(stderr, "%s%s\n", line_prefix('I').c_str(), printable(text).c_str());
}

}  // namespace tenon::tool
