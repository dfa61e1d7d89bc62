// Texts of errors as they are sent.
#pragma once

#include <string>

namespace tenon::server {

/// Names and elements of requests may be of any length, and headers of responses are not.
inline std::string short_text(std::string text) {
  constexpr size_t kLongest = 1000;
  if (text.size() > kLongest) text.replace(kLongest, std::string::npos, "...");
  return text;
}

}  // namespace tenon::server
