/// The feature map of several that suits a region's size. Semantics: mmdet's map_roi_levels.
#pragma once

#include "tenon/kernels/roi_region.h"

namespace tenon::kernels::inline TENON_TARGET {

struct RoiLevels {
  float stride[kMaxMaps] = {};  // elements of the image for one of a map
  int64_t count = 0;
  float finest = 56;
  float factor = -1;  // regions grow by; if positive
  bool aligned = false;

  /// Regions without an area are of the first level.
  TENON_HD int64_t of(float width, float height) const {
    const float level = floorf(log2f(sqrtf(width * height) / finest + 1e-6f));
    const auto last = static_cast<float>(count - 1);
    return level > 0 ? static_cast<int64_t>(level < last ? level : last) : 0;
  }
  TENON_HD float grown(float size) const { return factor > 0 ? size * factor : size; }
};

}  // namespace tenon::kernels::inline TENON_TARGET
