// The cases of all plugins/*/cases.json, for tests that have one test for each.
#pragma once

#include <tenon/plugin/cases.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tenon_source_dir.h"

namespace tenon::plugins::testing {

/// Folders with a plugin: <name>/<name>.cc.
inline std::vector<std::filesystem::path> plugin_folders() {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_SOURCE_DIR "/plugins"))
    if (std::filesystem::exists(entry.path() / entry.path().filename().concat(".cc")))
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

inline std::vector<kit::testing::NamedCase> cases_of(const std::filesystem::path& folder) {
  return kit::testing::read_cases(folder / "cases.json");
}

/// Cases of all folders. A file that is missing or broken has none: cases_test.cc says which.
inline std::vector<kit::testing::NamedCase> all_cases() {
  std::vector<kit::testing::NamedCase> cases;
  for (const auto& folder : plugin_folders()) try {
      for (auto& one : cases_of(folder)) cases.push_back(std::move(one));
    } catch (const std::exception&) {}
  return cases;
}

/// The name of a test.
inline std::string test_name(const kit::testing::NamedCase& c, size_t index) {
  std::string name = c.test.name() + "_" + c.name + "_" + std::to_string(index);
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

}  // namespace tenon::plugins::testing

namespace tenon::kit::testing {
/// For gtest's messages.
inline void PrintTo(const NamedCase& c, std::ostream* out) {
  *out << c.test.key() << ": " << c.name;
}
}  // namespace tenon::kit::testing
