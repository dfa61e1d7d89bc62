// Bearer tokens.
#pragma once

#include <algorithm>
#include <string_view>

namespace tenon::server {

// In a time that does not depend on where they differ.
inline bool is_same_secret(std::string_view secret, std::string_view found) {
  unsigned differences = secret.size() == found.size() ? 0 : 1;
  for (size_t i = 0; i < found.size() && !secret.empty(); ++i)
    differences |= static_cast<unsigned char>(secret[i % secret.size()] ^ found[i]);
  return differences == 0;
}

/// Whether an Authorization of HTTP, or gRPC's metadata of that name, is `Bearer TOKEN`. As in all
/// of HTTP, the scheme's case does not matter.
inline bool is_bearer(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  const auto is_same_letter = [](char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && a + ('a' - 'A') == b);
  };
  return std::equal(scheme.begin(), scheme.end(), kScheme.begin(), kScheme.end(), is_same_letter)
         && is_same_secret(token, authorization.substr(kScheme.size()));
}

}  // namespace tenon::server
