/// Clouds of points (clouds, points, 3): x, y and z of each.
#pragma once

#include <tenon/plugin/require.h>

namespace tenon::kernels::inline TENON_TARGET {

template <class E> TENON_HD float squared_distance(const E* a, const E* b) {
  float sum = 0;
  for (int k = 0; k < 3; ++k) {
    const float d = static_cast<float>(a[k]) - static_cast<float>(b[k]);
    sum += d * d;
  }
  return sum;
}

/// For shape rules.
inline void require_cloud(const char* name, const kit::Extents& points) {
  kit::require_axes(name, points, "B, points, 3");
}
/// For checks. All of these throw std::invalid_argument.
inline void require_cloud(const char* name, const kit::Shape& points) {
  kit::require_shape(name, points, "B, points, 3");
}
/// Two clouds for each of a batch.
inline void require_clouds(const char* name, const kit::Shape& points, const char* other_name,
                           const kit::Shape& others) {
  require_cloud(name, points);
  require_cloud(other_name, others);
  if (points[0] != others[0])
    throw std::invalid_argument(std::string(name) + " and " + other_name
                                + " must have one batch size, found " + text_of(points) + " and "
                                + text_of(others));
}

}  // namespace tenon::kernels::inline TENON_TARGET
