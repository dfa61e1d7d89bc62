#include "tenon/session/error_log.h"

#include <cstdio>
#include <exception>
#include <utility>

namespace tenon::session {

void ErrorLog::log(Severity severity, const char* text) noexcept {
  if (severity <= Severity::kERROR) keep(text);
}

void ErrorLog::keep(const char* text) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (first_.empty()) first_ = text;
  } catch (const std::exception&) {  // there is no memory to keep it in
    std::fprintf(stderr, "%s\n", text);
  }
}

std::string ErrorLog::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(first_, {});
}

Error ErrorLog::failure(std::string otherwise) {
  std::string text = take_error();
  return {text.empty() ? std::move(otherwise) : std::move(text)};
}

}  // namespace tenon::session
