// Values of Triton's extensions of log and trace settings.
#pragma once

#include <tenon/printable.h>

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tenon::server {

using SettingValue = std::variant<bool, uint32_t, std::string, std::vector<std::string>>;
using Settings = std::map<std::string, SettingValue>;
/// Nothing for what the server does by itself.
using SettingChanges = std::map<std::string, std::optional<SettingValue>>;

/// What is answered where a setting cannot be so.
inline std::string setting_error(const std::string& name, const std::string& why) {
  return "setting '" + printable(name) + "': " + why;
}
inline constexpr const char* kUnknownSetting = "there is none of that name";

}  // namespace tenon::server
