// What to tell a user whose plugin is not registered.
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "registry/registry.h"

namespace tenon {
namespace {

std::string lower(std::string_view text) {
  std::string s(text);
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

// Levenshtein's distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::vector<std::string> closest_names(std::string_view name,
                                       const std::vector<CreatorInfo>& creators) {
  constexpr size_t kLongestName = 256;  // names of models are foreign data
  const std::string wanted = lower(name.substr(0, kLongestName));
  std::set<std::pair<size_t, std::string>> ranked;
  for (const CreatorInfo& c : creators) {
    const std::string candidate = lower(c.name.substr(0, kLongestName));
    const bool contains = wanted.size() >= 4
                          && (candidate.find(wanted) != std::string::npos
                              || wanted.find(candidate) != std::string::npos);
    const size_t distance = contains ? 1 : edit_distance(wanted, candidate);
    if (distance <= std::max<size_t>(2, wanted.size() / 3)) ranked.emplace(distance, c.name);
  }
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : ranked)
    if (names.size() < 3) names.push_back(candidate);
  return names;
}

}  // namespace

std::string explain_missing(std::string_view name, std::string_view version,
                            std::string_view name_space) {
  const std::vector<CreatorInfo> creators = registered_creators();
  std::string text =
      fmt::format("no plugin \"{}\" version \"{}\" is registered in namespace \"{}\"", name,
                  version, name_space);
  std::vector<std::string> others;
  for (const CreatorInfo& c : creators)
    if (c.name == name)
      others.push_back(fmt::format("version \"{}\" in namespace \"{}\"", c.version, c.name_space));
  if (!others.empty()) {
    text += fmt::format(
        "; there is {} (node attributes plugin_version and plugin_namespace select "
        "one)",
        fmt::join(others, ", "));
  } else if (const auto names = closest_names(name, creators); !names.empty()) {
    text += fmt::format("; the closest names are {}", fmt::join(names, ", "));
  } else if (creators.empty()) {
    text += "; no plugins are registered at all";
  }
  return text +
         ". Load the library that has it: --plugins=lib.so on the command line, "
         "IPluginRegistry::loadLibrary(\"lib.so\") in C++";
}

}  // namespace tenon
