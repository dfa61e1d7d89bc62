#include "ops/max_roi_pool.h"

#include <cmath>

#include "ops/roi_align.h"
#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(MaxRoiPool);

void MaxRoiPool::visit(FieldVisitor& v) {
  v("height", height);
  v("width", width);
  v("spatial_scale", spatial_scale);
}

void MaxRoiPool::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  c.set_output(0, c.type(0), pooled_region_dims(c, height, width, 5));
}

namespace {

struct Range {
  int64_t begin, end;
};

// The elements of a bin of a region along one axis.
Range bin_range(float low, float high, float scale, int64_t bin, int64_t bins, int64_t extent) {
  constexpr float kFar = 1e9f;
  require(std::fabs(low * scale) < kFar && std::fabs(high * scale) < kFar, "a region from {} to {}",
          low, high);
  const float start = std::round(low * scale), end = std::round(high * scale);
  const float size = std::max(end - start + 1, 1.0f) / static_cast<float>(bins);
  const auto clipped = [&](float at) {
    return std::clamp<int64_t>(static_cast<int64_t>(at + start), 0, extent);
  };
  return {clipped(std::floor(static_cast<float>(bin) * size)),
          clipped(std::ceil(static_cast<float>(bin + 1) * size))};
}

template <class T> T largest(const T* plane, Range rows, Range columns, int64_t width) {
  if (rows.end <= rows.begin || columns.end <= columns.begin) return store<T>(0.0f);
  float largest = -INFINITY;
  for (int64_t i = rows.begin; i < rows.end; ++i)
    for (int64_t j = columns.begin; j < columns.end; ++j)
      if (const float x = load(plane[i * width + j]); x > largest || x != x) largest = x;
  return store<T>(largest);
}

}  // namespace

void MaxRoiPool::reference(const ReferenceCall& call) const {
  const Shape &shape = call.inputs[0].shape, &out = call.outputs[0].shape;
  const Floats regions(call.inputs[1]);
  require(call.inputs[1].shape.back() == 5, "regions of shape {}", call.inputs[1].shape);
  const int64_t channels = shape[1], plane = shape[2] * shape[3];
  with_float(call.inputs[0].type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(out[0] * channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* region = regions.data() + i / channels * 5;
        require(region[0] >= 0 && region[0] < static_cast<float>(shape[0]),
                "batch element {} of a region is outside [0, {})", region[0], shape[0]);
        const auto batch = static_cast<int64_t>(region[0]);
        const T* from = call.inputs[0].as<T>() + (batch * channels + i % channels) * plane;
        T* to = call.outputs[0].as<T>() + i * height * width;
        for (int64_t y = 0; y < height; ++y) {
          const Range rows = bin_range(region[2], region[4], spatial_scale, y, height, shape[2]);
          for (int64_t x = 0; x < width; ++x)
            *to++ = largest(from, rows,
                            bin_range(region[1], region[3], spatial_scale, x, width, shape[3]),
                            shape[3]);
        }
      }
    });
  });
}

}  // namespace tenon
