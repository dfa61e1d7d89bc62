#include "server_log.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace tenon::server {
namespace {

// By severity.
constexpr std::array kNames = {"log_info", "log_warning", "log_error"};

}  // namespace

void ServerLog::write(Severity severity, const std::string& line) {
  if (!is_on_[static_cast<size_t>(severity)]) return;
  const std::lock_guard lock(mutex_);
  std::fprintf(stderr, "%s\n", line.c_str());
}

// Lines go to the standard error, and there are none of verbose ones.
Settings ServerLog::settings() const {
  Settings settings = {{"log_file", std::string()},
                       {"log_verbose_level", uint32_t{0}},
                       {"log_format", std::string("default")}};
  for (size_t i = 0; i < kNames.size(); ++i) settings[kNames[i]] = is_on_[i].load();
  return settings;
}

std::optional<RequestError> ServerLog::change(const SettingChanges& wanted) {
  const Settings current = settings();
  std::array<std::optional<bool>, kNames.size()> flags;
  for (const auto& [name, value] : wanted) {
    const auto invalid = [&, &name = name](const std::string& text) {
      return RequestError{Failure::kInvalid, setting_error(name, text)};
    };
    const auto found = current.find(name);
    if (found == current.end()) return invalid(kUnknownSetting);
    const auto flag = std::ranges::find(kNames, name);
    if (flag == kNames.end()) {
      if (value && value != found->second)
        return invalid("another value than the server's is not supported yet");
      continue;
    }
    if (value && !std::holds_alternative<bool>(*value)) return invalid("expected true or false");
    flags[static_cast<size_t>(flag - kNames.begin())] = !value || std::get<bool>(*value);
  }
  for (size_t i = 0; i < flags.size(); ++i)
    if (flags[i]) is_on_[i] = *flags[i];
  return std::nullopt;
}

}  // namespace tenon::server
