#include "loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "error.h"

namespace tenon::tool {
namespace {

// How many rows of the last axis have their first largest element elsewhere.
double count_other_rows(const std::vector<double>& found, const std::vector<double>& expected,
                        size_t extent) {
  double count = 0;
  for (size_t i = 0; i + extent <= expected.size(); i += extent) {
    const auto largest = [&](const std::vector<double>& values) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(i);
      return std::max_element(first, first + static_cast<std::ptrdiff_t>(extent)) - first;
    };
    count += largest(found) != largest(expected);
  }
  return count;
}

}  // namespace

void Loss::Sums::add(double f, double e) {
  if (!std::isfinite(f) || !std::isfinite(e)) {
    is_finite &= f == e || (std::isnan(f) && std::isnan(e));
    return;
  }
  differences += (f - e) * (f - e);
  products += f * e;
  found += f * f;
  expected += e * e;
}

double Loss::Sums::loss(LossMetric metric) const {
  if (!is_finite) return std::numeric_limits<double>::infinity();
  if (metric == LossMetric::kTop1) return rows > 0 ? other_rows / rows : 0;
  if (differences == 0) return 0;
  if (metric == LossMetric::kCosine) {
    const double norms = std::sqrt(found) * std::sqrt(expected);
    return norms > 0 ? std::max(0.0, 1 - products / norms) : 1;
  }
  return expected > 0 ? std::sqrt(differences / expected) : std::numeric_limits<double>::infinity();
}

void Loss::add(const session::Arrays& found, const session::Arrays& expected) {
  for (const auto& [name, array] : expected) {
    const auto other = found.find(name);
    if (other == found.end())
      fail(ErrorClass::kNotInModel, "--maxLoss: the quantized model has no output '{}'", name);
    if (other->second.shape != array.shape)
      fail(ErrorClass::kNotInModel,
           "--maxLoss: output '{}' is {} in float and {} in int8: a loss needs outputs whose shape "
           "does not depend on data",
           name, session::shape_text(array.shape), session::shape_text(other->second.shape));
    const std::vector<double> f = value_or_fail(session::numbers(other->second)),
                              e = value_or_fail(session::numbers(array));
    Sums& sums = outputs_[name];
    for (size_t i = 0; i < e.size(); ++i) sums.add(f[i], e[i]);
    if (e.empty() || array.shape.empty()) continue;
    const auto extent = static_cast<size_t>(array.shape.back());
    sums.rows += static_cast<double>(e.size() / extent);
    sums.other_rows += count_other_rows(f, e, extent);
  }
}

double Loss::value() const {
  double max = 0;
  for (const auto& [name, sums] : outputs_) max = std::max(max, sums.loss(metric_));
  return max;
}

}  // namespace tenon::tool
