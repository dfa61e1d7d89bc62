#include "ops/roi_align.h"

#include <cmath>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(RoiAlign);

void RoiAlign::visit(FieldVisitor& v) {
  v("height", height);
  v("width", width);
  v("spatial_scale", spatial_scale);
  v("sampling_ratio", sampling_ratio);
  v("half_pixel", half_pixel);
  v("takes_maximum", takes_maximum);
}

namespace {

// Where the samples of a region lie along one axis.
struct RegionAxis {
  float start, bin;
  int64_t samples;  // in each bin

  RegionAxis(const RoiAlignRule& rule, float low, float high, int64_t bins, int64_t extent) {
    const float offset = rule.half_pixel ? 0.5f : 0.0f;
    start = low * rule.spatial_scale - offset;
    float length = high * rule.spatial_scale - offset - start;
    if (!rule.half_pixel) length = std::max(length, 1.0f);
    bin = length / static_cast<float>(bins);
    require(std::isfinite(start) && std::isfinite(bin), "a region from {} to {}", low, high);
    const float wanted = rule.sampling_ratio > 0 ? static_cast<float>(rule.sampling_ratio)
                                                 : std::max(std::ceil(bin), 0.0f);
    const int64_t limit = std::max<int64_t>(rule.sampling_ratio, 4 * extent + 16);
    require(wanted <= static_cast<float>(limit),
            "a region from {} to {} is far larger than a feature map of {} elements", low, high,
            extent);
    samples = static_cast<int64_t>(wanted);
  }
};

// The two elements around a sample, and the weight of the second.
struct Neighbours {
  int64_t low, high;
  float weight;
};

// Those of the samples of one bin; samples outside have none.
void find_samples(const RegionAxis& axis, int64_t bin, int64_t extent,
                  std::vector<Neighbours>& samples) {
  samples.clear();
  for (int64_t i = 0; i < axis.samples; ++i) {
    float at = axis.start + static_cast<float>(bin) * axis.bin
               + (static_cast<float>(i) + 0.5f) * axis.bin / static_cast<float>(axis.samples);
    if (!(at >= -1 && at <= static_cast<float>(extent))) continue;
    at = std::max(at, 0.0f);
    const int64_t low = std::min(static_cast<int64_t>(at), extent - 1);
    samples.push_back(
        {low, std::min(low + 1, extent - 1), low == extent - 1 ? 0 : at - static_cast<float>(low)});
  }
}

struct Bin {
  std::vector<Neighbours> rows, columns;
  int64_t count;  // of samples, those outside too

  float average(const float* plane, int64_t width) const {
    if (count == 0) return 0;
    const auto along_row = [&](int64_t row) {
      const float* x = plane + row * width;
      float sum = 0;
      for (const Neighbours& c : columns) sum += (1 - c.weight) * x[c.low] + c.weight * x[c.high];
      return sum;
    };
    float sum = 0;
    for (const Neighbours& r : rows)
      sum += (1 - r.weight) * along_row(r.low) + r.weight * along_row(r.high);
    return sum / static_cast<float>(count);
  }

  // Samples outside count as 0.
  float maximum(const float* plane, int64_t width) const {
    const auto inside = static_cast<int64_t>(rows.size() * columns.size());
    float largest = inside < count || count == 0 ? 0 : -INFINITY;
    for (const Neighbours& r : rows)
      for (const Neighbours& c : columns) {
        const float *above = plane + r.low * width, *below = plane + r.high * width;
        largest = std::max({largest, (1 - r.weight) * (1 - c.weight) * above[c.low],
                            (1 - r.weight) * c.weight * above[c.high],
                            r.weight * (1 - c.weight) * below[c.low],
                            r.weight * c.weight * below[c.high]});
      }
    return largest;
  }
};

}  // namespace

void roi_align(const RoiAlignRule& rule, const float* x, const Shape& shape, const float* regions,
               std::span<const int64_t> batches, float* y) {
  const int64_t channels = shape[1], height = shape[2], width = shape[3];
  const auto count = static_cast<int64_t>(batches.size());
  for (int64_t batch : batches)
    require(batch >= 0 && batch < shape[0], "batch element {} of a region is outside [0, {})",
            batch, shape[0]);
  if (count * channels == 0) return;
  require(height > 0 && width > 0, "regions of feature maps without elements ({})", shape);
  parallel_for(count * rule.height, 1, [&](int64_t begin, int64_t end) {
    Bin bin;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t region = row / rule.height, i = row % rule.height;
      const float* corner = regions + region * 4;
      const RegionAxis rows(rule, corner[1], corner[3], rule.height, height);
      const RegionAxis columns(rule, corner[0], corner[2], rule.width, width);
      find_samples(rows, i, height, bin.rows);
      bin.count = rows.samples * columns.samples;
      for (int64_t j = 0; j < rule.width; ++j) {
        find_samples(columns, j, width, bin.columns);
        const float* map = x + batches[static_cast<size_t>(region)] * channels * height * width;
        for (int64_t c = 0; c < channels; ++c) {
          const float* plane = map + c * height * width;
          y[((region * channels + c) * rule.height + i) * rule.width + j] =
              rule.takes_maximum ? bin.maximum(plane, width) : bin.average(plane, width);
        }
      }
    }
  });
}

Dims pooled_region_dims(Inference& c, int64_t height, int64_t width, int64_t region_width) {
  const Dims &data = c.dims(0), &regions = c.dims(1);
  require_float(c, 0, "the data");
  require_float(c, 1, "the regions");
  require(data.size() == 4, "expected data of 4 dimensions (N, C, H, W), found {}", text_of(data));
  require(regions.size() == 2
              && (!regions[1]->is_constant() || regions[1]->value.integer == region_width),
          "expected regions of shape (count, {}), found {}", region_width, text_of(regions));
  constexpr int64_t kLimit = 1 << 20;
  require(height >= 1 && height <= kLimit && width >= 1 && width <= kLimit,
          "expected results of 1 to {} rows and columns, found {}x{}", kLimit, height, width);
  return {regions[0], data[1], c.pool().constant(height), c.pool().constant(width)};
}

void RoiAlign::infer(Inference& c) const {
  require_inputs(c, 3, 3);
  require_index(c, 2, "the batch elements");
  require(c.rank(2) == 1, "expected batch elements of 1 dimension, found {}", text_of(c.dims(2)));
  require(!c.dims(2)[0]->is_constant() || c.rank(1) != 2 || !c.dims(1)[0]->is_constant()
              || c.dims(1)[0] == c.dims(2)[0],
          "expected one batch element per region, found {} for {}", text_of(c.dims(2)),
          text_of(c.dims(1)));
  require(sampling_ratio >= 0 && sampling_ratio <= 1024,
          "expected a sampling ratio of 0 to 1024, found {}", sampling_ratio);
  c.set_output(0, c.type(0), pooled_region_dims(c, height, width, 4));
}

void RoiAlign::reference(const ReferenceCall& call) const {
  const TensorView& out = call.outputs[0];
  const Floats x(call.inputs[0]), regions(call.inputs[1]);
  const auto batches = read_integers(call.inputs[2]);
  require(static_cast<int64_t>(batches.size()) == call.inputs[1].shape[0]
              && call.inputs[1].shape[1] == 4,
          "{} batch elements do not fit regions of shape {}", batches.size(), call.inputs[1].shape);
  const RoiAlignRule rule{height, width, spatial_scale, sampling_ratio, half_pixel, takes_maximum};
  if (out.type == DataType::kFLOAT)
    return roi_align(rule, x.data(), call.inputs[0].shape, regions.data(), batches,
                     out.as<float>());
  std::vector<float> y(static_cast<size_t>(out.shape.volume()));
  roi_align(rule, x.data(), call.inputs[0].shape, regions.data(), batches, y.data());
  with_float(out.type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < y.size(); ++i) out.as<T>()[i] = store<T>(y[i]);
  });
}

}  // namespace tenon
