// The levels of a sweep, as options name them.
#pragma once

#include <string>
#include <vector>

namespace tenon::load {

/// "8", "1:64:8" (from, to, step; the step is 1 without one) and lists of both: "1,8,64".
/// Throws session::Error, with the option's name in front, for what is no such thing, for numbers
/// that are not above 0, and for more than 1000 levels.
std::vector<double> parse_range(const std::string& option, const std::string& text);

}  // namespace tenon::load
