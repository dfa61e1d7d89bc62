// Bearer tokens.
#pragma once

#include <string_view>

namespace tenon::server {

/// In a time that does not depend on where they differ.
inline bool is_same_secret(std::string_view secret, std::string_view found) {
  unsigned differences = secret.size() == found.size() ? 0 : 1;
  for (size_t i = 0; i < found.size() && !secret.empty(); ++i)
    differences |= static_cast<unsigned char>(secret[i % secret.size()] ^ found[i]);
  return differences == 0;
}

}  // namespace tenon::server
