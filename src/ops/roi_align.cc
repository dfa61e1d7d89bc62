#include "ops/roi_align.h"

#include <array>
#include <cmath>

#include "ops/infer.h"
#include "ops/reference.h"

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
    const int64_t most = std::max<int64_t>(rule.sampling_ratio, 4 * extent + 16);
    require(wanted <= static_cast<float>(most),
            "a region from {} to {} is far larger than a feature map of {} elements", low, high,
            extent);
    samples = static_cast<int64_t>(wanted);
  }
};

// The two elements around a sample, and the weight of the second; none when it is outside.
struct Neighbours {
  int64_t low = 0, high = 0;
  float weight = 0;
  bool outside = true;
};

Neighbours neighbours(const RegionAxis& axis, int64_t bin, int64_t sample, int64_t extent) {
  float at = axis.start + static_cast<float>(bin) * axis.bin
             + (static_cast<float>(sample) + 0.5f) * axis.bin / static_cast<float>(axis.samples);
  if (!(at >= -1 && at <= static_cast<float>(extent))) return {};
  at = std::max(at, 0.0f);
  Neighbours n;
  n.outside = false;
  n.low = std::min(static_cast<int64_t>(at), extent - 1);
  n.high = std::min(n.low + 1, extent - 1);
  n.weight = n.low == extent - 1 ? 0 : at - static_cast<float>(n.low);
  return n;
}

struct Sample {
  std::array<int64_t, 4> offset;
  std::array<float, 4> weight;
};

// All samples of one bin; those outside have weight 0.
void find_samples(const RegionAxis& rows, const RegionAxis& columns, int64_t i, int64_t j,
                  int64_t height, int64_t width, std::vector<Sample>& samples) {
  samples.clear();
  for (int64_t a = 0; a < rows.samples; ++a) {
    const Neighbours y = neighbours(rows, i, a, height);
    for (int64_t b = 0; b < columns.samples; ++b) {
      const Neighbours x = neighbours(columns, j, b, width);
      Sample s{};
      if (!x.outside && !y.outside) {
        s.offset = {y.low * width + x.low, y.low * width + x.high, y.high * width + x.low,
                    y.high * width + x.high};
        s.weight = {(1 - y.weight) * (1 - x.weight), (1 - y.weight) * x.weight,
                    y.weight * (1 - x.weight), y.weight * x.weight};
      }
      samples.push_back(s);
    }
  }
}

float average(const float* plane, const std::vector<Sample>& samples) {
  if (samples.empty()) return 0;
  float sum = 0;
  for (const Sample& s : samples)
    sum += (s.weight[0] * plane[s.offset[0]] + s.weight[1] * plane[s.offset[1]])
           + (s.weight[2] * plane[s.offset[2]] + s.weight[3] * plane[s.offset[3]]);
  return sum / static_cast<float>(samples.size());
}

float maximum(const float* plane, const std::vector<Sample>& samples) {
  if (samples.empty()) return 0;
  float largest = -INFINITY;
  for (const Sample& s : samples)
    for (size_t k = 0; k < 4; ++k) largest = std::max(largest, s.weight[k] * plane[s.offset[k]]);
  return largest;
}

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
    std::vector<Sample> samples;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t region = row / rule.height, i = row % rule.height;
      const float* corner = regions + region * 4;
      const RegionAxis rows(rule, corner[1], corner[3], rule.height, height);
      const RegionAxis columns(rule, corner[0], corner[2], rule.width, width);
      for (int64_t j = 0; j < rule.width; ++j) {
        find_samples(rows, columns, i, j, height, width, samples);
        const float* map = x + batches[static_cast<size_t>(region)] * channels * height * width;
        for (int64_t c = 0; c < channels; ++c) {
          const float* plane = map + c * height * width;
          y[((region * channels + c) * rule.height + i) * rule.width + j] =
              rule.takes_maximum ? maximum(plane, samples) : average(plane, samples);
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
  constexpr int64_t kMost = 1 << 20;
  require(height >= 1 && height <= kMost && width >= 1 && width <= kMost,
          "expected results of 1 to {} rows and columns, found {}x{}", kMost, height, width);
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
