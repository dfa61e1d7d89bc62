// What the file of a shared library says of itself.
#pragma once

#include <string>
#include <vector>

namespace tenon::check {

struct SharedLibrary {
  std::vector<std::string> needed;  // names of libraries that are loaded with it
  std::string names;                // of symbols and libraries, each between zeros
};

/// Reads an ELF file of 64 bits. Empty when `path` is none.
SharedLibrary read_shared_library(const std::string& path);

}  // namespace tenon::check
