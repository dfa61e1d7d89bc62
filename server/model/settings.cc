#include "settings.h"

#include <tenon/printable.h>

namespace tenon::server {

// Lines go to the standard error, and there are none of verbose ones.
const Settings& log_settings() {
  static const Settings kSettings = {{"log_file", std::string()},
                                     {"log_info", true},
                                     {"log_warning", true},
                                     {"log_error", true},
                                     {"log_verbose_level", uint32_t{0}},
                                     {"log_format", std::string("default")}};
  return kSettings;
}

// Requests are not traced into files.
const Settings& trace_settings() {
  static const Settings kSettings = {{"trace_level", std::vector<std::string>{"OFF"}}};
  return kSettings;
}

std::optional<RequestError> check_settings(const Settings& wanted, const Settings& current) {
  for (const auto& [name, value] : wanted) {
    const auto found = current.find(name);
    if (found == current.end())
      return RequestError{Failure::kInvalid,
                          "setting '" + printable(name) + "' is not supported yet"};
    if (value != found->second)
      return RequestError{Failure::kInvalid, "setting '" + name
                                                 + "': another value than the one that the "
                                                   "settings are answered with is not "
                                                   "supported yet"};
  }
  return std::nullopt;
}

}  // namespace tenon::server
