// What a running server says of its models, as a table for a terminal.
#pragma once

#include <tenon/session/result.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::server {

/// A row for each version of a model, of the text of /metrics.
std::string status_table(std::string_view metrics);
/// The text of /metrics of the server there. An error where none answers within seconds.
session::Result<std::string> fetch_metrics(const std::string& address, uint16_t port) noexcept;

}  // namespace tenon::server
