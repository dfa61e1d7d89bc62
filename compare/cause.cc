#include "compare/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenon::compare {
namespace {

// A float type: its largest finite number, and half the distance from 1 to the next number.
struct FloatLimits {
  double largest, rounding;
};

const FloatLimits* limits_of(nvinfer1::DataType type) {
  static constexpr FloatLimits kHalf{65504, 0x1p-11}, kBrainFloat{0x1.fep127, 0x1p-9};
  if (type == nvinfer1::DataType::kHALF) return &kHalf;
  if (type == nvinfer1::DataType::kBF16) return &kBrainFloat;
  return nullptr;
}

std::string overflow(const std::vector<double>& expected, const TensorError& own,
                     nvinfer1::DataType type) {
  double magnitude = 0;
  for (double value : expected)
    if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
  const FloatLimits* const limits = limits_of(type);
  const char* const name = type == nvinfer1::DataType::kHALF ? "float16" : "bfloat16";
  if (limits != nullptr && magnitude > limits->largest)
    return fmt::format(
        "overflow: {} elements are not finite; values go to {:.4g}, and {} ends at {:.4g}",
        own.not_finite, magnitude, name, limits->largest);
  return fmt::format(
      "{} elements are not finite, of expected values within {:.4g}: an intermediate overflows, or "
      "a "
      "division is by what became 0",
      own.not_finite, magnitude);
}

// How many elements at an end of what was found lie beyond it in what is expected.
int64_t count_clipped(const std::vector<double>& found, const std::vector<double>& expected) {
  const auto [least, most] = std::minmax_element(found.begin(), found.end());
  int64_t count = 0;
  for (size_t i = 0; i < found.size(); ++i)
    count +=
        (found[i] == *most && expected[i] > *most) || (found[i] == *least && expected[i] < *least);
  return count;
}

}  // namespace

std::string cause_of(const session::Array& found, const session::Array& expected,
                     const TensorError& own) {
  const auto f = session::numbers(found), e = session::numbers(expected);
  if (!f || !e || own.worst < 0) return {};
  if (own.not_finite > 0) return overflow(*e, own, found.type);
  double magnitude = 0;
  for (double value : *e)
    if (std::isfinite(value)) magnitude = std::max(magnitude, std::abs(value));
  if (const FloatLimits* limits = limits_of(found.type);
      limits != nullptr && own.largest <= limits->rounding * magnitude)
    return {};
  constexpr int64_t kManyClipped = 4;  // more than the largest and the least, which may be off
  if (const int64_t count = count_clipped(*f, *e); count >= kManyClipped)
    return fmt::format(
        "saturation: {} of {} elements lie beyond {:.4g} to {:.4g}, where the results end", count,
        f->size(), *std::min_element(f->begin(), f->end()),
        *std::max_element(f->begin(), f->end()));
  if (own.rms > 0 && own.largest > 30 * own.rms)
    return fmt::format("few elements: the largest error is {:.0f} times the root mean square",
                       own.largest / own.rms);
  return {};
}

}  // namespace tenon::compare
