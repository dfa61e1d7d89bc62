/// What plugins require of their attributes and tensors, with one sentence for each that does not
/// fit: all of these throw std::invalid_argument that says what was expected and what was found.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tenon/plugin/shapes.h"
#include "tenon/plugin/tensor.h"

namespace tenon {
namespace kit {

/// "(2, 3, 4)"
inline std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

/// For attributes.
inline void require_at_least(const char* name, int64_t value, int64_t min) {
  if (value < min)
    throw std::invalid_argument(std::string(name) + " must be at least " + std::to_string(min)
                                + ", found " + std::to_string(value));
}
/// For attributes that are lists.
inline void require_elements(const char* name, size_t found, size_t expected) {
  if (found != expected)
    throw std::invalid_argument(std::string(name) + " must have " + std::to_string(expected)
                                + (expected == 1 ? " element" : " elements") + ", found "
                                + std::to_string(found));
}

/// For shape rules.
/// @param axes a name for each dimension, such as "N, C, H, W"
inline void require_axes(const char* name, const Extents& found, std::string_view axes) {
  const auto expected = static_cast<size_t>(std::count(axes.begin(), axes.end(), ',')) + 1;
  if (found.size() != expected)
    throw std::invalid_argument(std::string(name) + " must have " + std::to_string(expected)
                                + (expected == 1 ? " dimension (" : " dimensions (")
                                + std::string(axes) + "), found " + std::to_string(found.size()));
}

/// For checks.
/// @param axes each dimension: a number that it must be, or a name for any, such as "B, points, 3"
inline void require_shape(const char* name, const Shape& found, std::string_view axes) {
  constexpr std::string_view kBetween = ", ";
  int rank = 0;
  bool fits = true;
  for (std::string_view rest = axes; !rest.empty(); ++rank) {
    const std::string_view axis = rest.substr(0, rest.find(kBetween));
    rest.remove_prefix(std::min(axis.size() + kBetween.size(), rest.size()));
    int64_t extent = 0;
    for (const char digit : axis)
      extent = extent < 0 || digit < '0' || digit > '9' ? -1 : extent * 10 + (digit - '0');
    fits = fits && rank < found.rank() && (extent < 0 || found[rank] == extent);
  }
  if (!fits || rank != found.rank())
    throw std::invalid_argument(std::string(name) + " must be (" + std::string(axes) + "), found "
                                + text_of(found));
}
/// The same, where every extent is known.
inline void require_shape(const char* name, const Shape& found,
                          std::initializer_list<int64_t> extents) {
  Shape expected{};
  expected.nbDims = static_cast<int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), expected.d);
  if (found.rank() != expected.rank() || !std::equal(extents.begin(), extents.end(), found.d))
    throw std::invalid_argument(std::string(name) + " must be " + text_of(expected) + ", found "
                                + text_of(found));
}

}  // namespace kit
}  // namespace tenon
