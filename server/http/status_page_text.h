// The text of the server's page.
#pragma once

#include <string_view>

namespace tenon::server {

extern const std::string_view kStatusPage;

}  // namespace tenon::server
