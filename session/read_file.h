// Whole files of the host.
#pragma once

#include <tenon/error_codes.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tenon/session/result.h"

namespace tenon::session {

/// Throws Error, naming the path and the reason, for what cannot be read: folders and devices, too.
inline std::vector<std::byte> read_file(const std::string& path) {
  std::error_code reason;
  const auto size = std::filesystem::file_size(path, reason);
  if (reason)
    throw Error{with_code(path + ": cannot be read: " + reason.message(), ErrorClass::kFile)};
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    throw Error{with_code(path + ": cannot be read", ErrorClass::kFile)};
  return bytes;
}

}  // namespace tenon::session
