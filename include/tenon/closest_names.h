// Names like a misspelt one, for the message about it.
#ifndef TENON_CLOSEST_NAMES_H
#define TENON_CLOSEST_NAMES_H

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon {
namespace detail {

/// Of what is compared: names may be foreign data.
inline std::string start_in_lower_case(std::string_view name) {
  constexpr size_t kLongestName = 256;
  std::string start(name.substr(0, kLongestName));
  for (char& c : start) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return start;
}

}  // namespace detail

/// How many letters to change, add or leave out to make one of the other: Levenshtein's distance.
inline size_t edit_distance(std::string_view a, std::string_view b) {
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

/// Up to three of `candidates`, the closest first: those that a third of the letters or fewer tell
/// from `name`, whatever their case, and those that hold it or are part of it.
inline std::vector<std::string> closest_names(std::string_view name,
                                              const std::vector<std::string>& candidates) {
  constexpr size_t kMost = 3, kShortestPart = 4;
  const std::string wanted = detail::start_in_lower_case(name);
  std::set<std::pair<size_t, std::string>> ranked;
  for (const std::string& given : candidates) {
    const std::string candidate = detail::start_in_lower_case(given);
    const bool is_part = wanted.size() >= kShortestPart
                         && (candidate.find(wanted) != std::string::npos
                             || wanted.find(candidate) != std::string::npos);
    const size_t distance = edit_distance(wanted, candidate);
    if (is_part || distance <= std::max<size_t>(2, wanted.size() / 3))
      ranked.emplace(distance, given);
  }
  std::vector<std::string> names;
  for (const auto& [distance, candidate] : ranked)
    if (names.size() < kMost) names.push_back(candidate);
  return names;
}

}  // namespace tenon

#endif  // TENON_CLOSEST_NAMES_H
