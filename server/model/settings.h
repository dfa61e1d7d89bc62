// Triton's extensions of log and trace settings, of a server whose settings clients cannot change.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model.h"

namespace tenon::server {

using SettingValue = std::variant<bool, uint32_t, std::string, std::vector<std::string>>;
using Settings = std::map<std::string, SettingValue>;

const Settings& log_settings();
const Settings& trace_settings();

/// Nothing where all are so already; an error that names one that is not, or that there is none of
/// that name.
std::optional<RequestError> check_settings(const Settings& wanted, const Settings& current);

}  // namespace tenon::server
