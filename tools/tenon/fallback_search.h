// Which layers of a quantized model must stay in float for its loss to hold a bound.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace tenon::tool {

/// Groups of layers, by their numbers.
using Groups = std::vector<size_t>;

/// What was found. `kept` holds the groups that stay in float, in rising order.
struct Fallback {
  Groups kept;
  double loss = 0;    ///< with these in float
  bool holds = true;  ///< whether that is within the bound; where it is not, `kept` is all of them
  int measured = 0;   ///< how many sets of groups were
};

/// Greedy, then trimmed. Groups go back to float in the order of their numbers, the most costly
/// first, 1, 2, 4, … of them until the bound holds; bisection finds the fewest from the front; then
/// parts of these, from the end, become int8 again where the bound holds without them, ever smaller
/// parts down to a sixteenth. So about 32 + 2 log2(count) sets are measured at most.
/// @param loss what the model loses with these groups in float; never NaN.
Fallback find_fallback(size_t count, double bound,
                       const std::function<double(const Groups& kept)>& loss);

}  // namespace tenon::tool
