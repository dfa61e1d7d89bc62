#include "fallback_search.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace tenon::tool {
namespace {

class Search {
 public:
  Search(size_t count, double bound, const std::function<double(const Groups&)>& loss)
      : count_(count), bound_(bound), loss_(loss) {}

  Fallback run() && {
    if (!grow()) {
      best_.holds = false;
      return std::move(best_);
    }
    trim();
    return std::move(best_);
  }

 private:
  // The set becomes the result where it holds the bound.
  bool try_out(Groups kept) {
    const double loss = loss_(kept);
    ++best_.measured;
    const bool holds = loss <= bound_;
    if (holds || kept.size() == count_) {
      best_.kept = std::move(kept);
      best_.loss = loss;
    }
    return holds;
  }

  bool try_first(size_t count) {
    Groups first(count);
    std::iota(first.begin(), first.end(), size_t{0});
    return try_out(std::move(first));
  }

  bool grow() {
    if (try_first(0)) return true;
    size_t fails = 0, holds = std::min<size_t>(1, count_);
    while (holds > fails && !try_first(holds)) {
      fails = holds;
      holds = std::min(2 * holds, count_);
    }
    if (holds == fails) return false;
    while (holds - fails > 1) {
      const size_t middle = fails + (holds - fails) / 2;
      (try_first(middle) ? holds : fails) = middle;
    }
    return true;
  }

  void trim() {
    constexpr size_t kParts = 16;
    if (best_.kept.empty()) return;
    const size_t smallest = (best_.kept.size() + kParts - 1) / kParts;
    for (size_t part = std::max(best_.kept.size() / 2, smallest);;
         part = std::max(part / 2, smallest)) {
      trim_by(part);
      if (part == smallest) return;
    }
  }

  // Parts at the end cost least, and are tried first. The whole set is none: it fails.
  void trim_by(size_t part) {
    for (size_t end = best_.kept.size(); end > 0;) {
      const size_t begin = end > part ? end - part : 0;
      Groups rest = best_.kept;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
                 rest.begin() + static_cast<std::ptrdiff_t>(end));
      if (!rest.empty()) try_out(std::move(rest));
      end = begin;
    }
  }

  const size_t count_;
  const double bound_;
  const std::function<double(const Groups&)>& loss_;
  Fallback best_;
};

}  // namespace

Fallback find_fallback(size_t count, double bound,
                       const std::function<double(const Groups& kept)>& loss) {
  return Search(count, bound, loss).run();
}

}  // namespace tenon::tool
