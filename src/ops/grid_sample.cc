#include "ops/grid_sample.h"

#include <cmath>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;

TENON_REGISTER_OP(GridSample);

void GridSample::visit(FieldVisitor& v) {
  v("mode", mode);
  v("outside", outside);
  v("align_corners", align_corners);
}

namespace {

constexpr int kMaxTaps = 4;  // along one axis

// Elements along one axis and their weights.
struct AxisTaps {
  int64_t position[kMaxTaps];
  float weight[kMaxTaps];
};

int taps_of(InterpolationMode mode) {
  return mode == InterpolationMode::kNEAREST ? 1 : mode == InterpolationMode::kLINEAR ? 2 : 4;
}

// The element of an axis of `extent` that stands for one at `position`; -1 for none.
int64_t inside(const SamplingRule& rule, int64_t position, int64_t extent) {
  if (position >= 0 && position < extent) return position;
  if (rule.outside == SampleMode::kFILL) return -1;
  if (rule.outside == SampleMode::kCLAMP) return position < 0 ? 0 : extent - 1;
  // Mirrors are the centres of the outermost elements, or their outer edges.
  if (rule.align_corners && extent == 1) return 0;
  const int64_t period = 2 * (rule.align_corners ? extent - 1 : extent);
  const int64_t rest = (position % period + period) % period;
  if (rest < extent) return rest;
  return rule.align_corners ? period - rest : period - 1 - rest;
}

// Weights of the four elements around a place that is `t` behind the second.
void cubic_weights(float t, float* weight) {
  constexpr float kA = -0.75f;
  const auto near = [](float d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](float d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  weight[0] = far(t + 1);
  weight[1] = near(t);
  weight[2] = near(1 - t);
  weight[3] = far(2 - t);
}

AxisTaps axis_taps(const SamplingRule& rule, float coordinate, int64_t extent) {
  const auto size = static_cast<float>(extent);
  float at =
      rule.align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
  // Farther away all is outside; the bound keeps conversions to integers defined.
  constexpr float kFar = 1e9f;
  at = std::isnan(at) ? -kFar : std::clamp(at, -kFar, kFar);
  AxisTaps taps{};
  const float below = std::floor(at), t = at - below;
  auto first = static_cast<int64_t>(below);
  switch (rule.mode) {
    case InterpolationMode::kNEAREST:
      first = static_cast<int64_t>(std::nearbyint(at));
      taps.weight[0] = 1;
      break;
    case InterpolationMode::kLINEAR:
      taps.weight[0] = 1 - t;
      taps.weight[1] = t;
      break;
    case InterpolationMode::kCUBIC:
      cubic_weights(t, taps.weight);
      --first;
      break;
  }
  for (int i = 0; i < taps_of(rule.mode); ++i) {
    const int64_t position = inside(rule, first + i, extent);
    if (position < 0) taps.weight[i] = 0;
    taps.position[i] = std::max<int64_t>(position, 0);
  }
  return taps;
}

// An offset in a plane and its weight.
struct Tap {
  int64_t offset;
  float weight;
};

struct Sampler {
  const SamplingRule& rule;
  int64_t spatial[3];  // depth (1 for planes), height, width
  int axes;

  int64_t max_taps() const {
    const int each = taps_of(rule.mode);
    return axes == 3 ? each * each * each : each * each;
  }

  // What the result at a place sums up. Elements without weight are left out, so that infinities
  // there do no harm.
  int taps(const float* place, Tap* to) const {
    AxisTaps along[3] = {};
    along[0].weight[0] = 1;  // planes have one layer
    for (int i = 0; i < axes; ++i) along[2 - i] = axis_taps(rule, place[i], spatial[2 - i]);
    const int each = taps_of(rule.mode);
    int count = 0;
    for (int z = 0; z < (axes == 3 ? each : 1); ++z)
      for (int y = 0; y < each; ++y)
        for (int x = 0; x < each; ++x) {
          const float weight = along[0].weight[z] * along[1].weight[y] * along[2].weight[x];
          const int64_t row = along[0].position[z] * spatial[1] + along[1].position[y];
          if (weight != 0) to[count++] = {row * spatial[2] + along[2].position[x], weight};
        }
    return count;
  }
};

float weighted_sum(const float* plane, const Tap* t, int count) {
  if (count == 4)  // most places of most layers
    return (plane[t[0].offset] * t[0].weight + plane[t[1].offset] * t[1].weight)
           + (plane[t[2].offset] * t[2].weight + plane[t[3].offset] * t[3].weight);
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += t[i].weight * plane[t[i].offset];
  return sum;
}

}  // namespace

void sample_grid(const SamplingRule& rule, const float* x, const Shape& shape, const float* grid,
                 const Shape& grid_shape, float* y) {
  const int axes = shape.rank() - 2;
  Sampler sampler{rule, {1, 1, 1}, axes};
  for (int i = 0; i < axes; ++i) sampler.spatial[3 - axes + i] = shape[i + 2];
  const int64_t batches = shape[0], channels = shape[1], plane = shape.volume(2, shape.rank());
  const int64_t places = grid_shape.volume(1, grid_shape.rank() - 1);
  if (batches * channels * places == 0) return;
  if (plane == 0) {
    std::fill_n(y, batches * channels * places, 0.0f);
    return;
  }
  // Taps are found once for a block of places and used by all channels.
  constexpr int64_t kBlock = 128;
  const int64_t blocks = (places + kBlock - 1) / kBlock;
  const int64_t max_taps = sampler.max_taps();
  parallel_for(batches * blocks, 1, [&](int64_t begin, int64_t end) {
    std::vector<Tap> taps(static_cast<size_t>(kBlock * max_taps));
    int count[kBlock];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / blocks, first = i % blocks * kBlock;
      const int64_t length = std::min(kBlock, places - first);
      for (int64_t k = 0; k < length; ++k)
        count[k] =
            sampler.taps(grid + (batch * places + first + k) * axes, taps.data() + k * max_taps);
      for (int64_t c = 0; c < channels; ++c) {
        const float* from = x + (batch * channels + c) * plane;
        float* to = y + (batch * channels + c) * places + first;
        for (int64_t k = 0; k < length; ++k)
          to[k] = weighted_sum(from, taps.data() + k * max_taps, count[k]);
      }
    }
  });
}

void GridSample::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require_float(c, 0, "the data");
  require_float(c, 1, "the grid");
  require(mode >= InterpolationMode::kNEAREST && mode <= InterpolationMode::kCUBIC,
          "expected an InterpolationMode (0 to 2), found {}", static_cast<int32_t>(mode));
  require(outside == SampleMode::kFILL || outside == SampleMode::kCLAMP
              || outside == SampleMode::kREFLECT,
          "expected the sample mode kFILL, kCLAMP or kREFLECT, found {}",
          static_cast<int32_t>(outside));
  const Dims &data = c.dims(0), &grid = c.dims(1);
  require(data.size() == 4 || data.size() == 5,
          "expected data of 4 or 5 dimensions (N, C, then two or three spatial axes), found {}",
          text_of(data));
  require(grid.size() == data.size(), "expected a grid of {} dimensions, found {}", data.size(),
          text_of(grid));
  require(!grid.back()->is_constant()
              || grid.back()->value.integer == static_cast<int64_t>(data.size()) - 2,
          "expected {} coordinates in the grid, found {}", data.size() - 2, text_of(grid.back()));
  require(!grid[0]->is_constant() || !data[0]->is_constant() || grid[0] == data[0],
          "expected data and grid of the same batch size, found {} and {}", text_of(data[0]),
          text_of(grid[0]));
  Dims dims{data[0], data[1]};
  dims.insert(dims.end(), grid.begin() + 1, grid.end() - 1);
  c.set_output(0, c.type(0), std::move(dims));
}

void GridSample::reference(const ReferenceCall& call) const {
  const Shape &shape = call.inputs[0].shape, &places = call.inputs[1].shape;
  const TensorView& out = call.outputs[0];
  require(shape[0] == places[0] && places.back() == shape.rank() - 2,
          "a grid of shape {} does not fit data of shape {}", places, shape);
  const Floats x(call.inputs[0]), grid(call.inputs[1]);
  const SamplingRule rule{mode, outside, align_corners};
  if (out.type == DataType::kFLOAT)
    return sample_grid(rule, x.data(), shape, grid.data(), places, out.as<float>());
  std::vector<float> y(static_cast<size_t>(out.shape.volume()));
  sample_grid(rule, x.data(), shape, grid.data(), places, y.data());
  with_float(out.type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < y.size(); ++i) out.as<T>()[i] = store<T>(y[i]);
  });
}

}  // namespace tenon
