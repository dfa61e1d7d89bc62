#include "ops/deformable_convolution.h"

#include <cmath>
#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"
#include "ops/support/window.h"

namespace tenon {

TENON_REGISTER_OP(DeformableConvolution);

void DeformableConvolution::visit(FieldVisitor& v) {
  v("stride", stride);
  v("dilation", dilation);
  v("pre_padding", pre_padding);
  v("post_padding", post_padding);
  v("groups", groups);
  v("offset_groups", offset_groups);
}

namespace {

// Results side by side: one row of columns, and of the product.
constexpr int64_t kBlock = 64;

struct Task {
  const DeformableConvolutionRule& rule;
  const DeformableConvolutionCall& call;
  int64_t batch, first, length;  // results [first, first + length) of a plane

  int64_t plane() const { return call.result[2] * call.result[3]; }
  int64_t taps() const { return rule.rows.taps * rule.columns.taps; }
};

// What a moved tap reads for a result: four neighbours and their weights.
struct Reading {
  int64_t offset[4];
  float weight[4];
  bool inside;  // else 0, whatever the neighbours are
};

Reading reading_at(float row, float column, int64_t height, int64_t width, float mask) {
  Reading r{};
  // Not a number is outside too.
  r.inside = row > -1 && column > -1 && row < static_cast<float>(height)
             && column < static_cast<float>(width);
  if (!r.inside) return r;
  const float top = std::floor(row), left = std::floor(column);
  const float share[2][2] = {{1 - (row - top), row - top}, {1 - (column - left), column - left}};
  for (int64_t k = 0; k < 4; ++k) {
    const int64_t i = static_cast<int64_t>(top) + k / 2, j = static_cast<int64_t>(left) + k % 2;
    const bool outside = i < 0 || j < 0 || i >= height || j >= width;
    r.offset[k] =
        std::clamp<int64_t>(i, 0, height - 1) * width + std::clamp<int64_t>(j, 0, width - 1);
    r.weight[k] = outside ? 0 : share[0][k / 2] * share[1][k % 2] * mask;
  }
  return r;
}

// What one tap of one offset group reads, for all results of the task.
void find_readings(const Task& t, int64_t offset_group, int64_t tap, Reading* to) {
  const Shape &in = t.call.shape, &out = t.call.result;
  const DeformableConvolutionRule& r = t.rule;
  const int64_t place = (t.batch * r.offset_groups + offset_group) * t.taps() + tap;
  const float *down = t.call.offsets + place * 2 * t.plane(), *right = down + t.plane();
  const float* mask = t.call.mask != nullptr ? t.call.mask + place * t.plane() : nullptr;
  const int64_t tap_row = tap / r.columns.taps * r.rows.dilation - r.rows.padding;
  const int64_t tap_column = tap % r.columns.taps * r.columns.dilation - r.columns.padding;
  for (int64_t k = 0; k < t.length; ++k) {
    const int64_t at = t.first + k, i = at / out[3], j = at % out[3];
    to[k] = reading_at(static_cast<float>(i * r.rows.stride + tap_row) + down[at],
                       static_cast<float>(j * r.columns.stride + tap_column) + right[at], in[2],
                       in[3], mask != nullptr ? mask[at] : 1);
  }
}

void read(const float* x, const Reading* readings, int64_t count, float* to) {
  for (int64_t k = 0; k < count; ++k) {
    const Reading& r = readings[k];
    to[k] = !r.inside ? 0
                      : (r.weight[0] * x[r.offset[0]] + r.weight[1] * x[r.offset[1]])
                            + (r.weight[2] * x[r.offset[2]] + r.weight[3] * x[r.offset[3]]);
  }
}

// The columns of a group's channels: row (channel * taps + tap) holds what that tap reads.
void fill_columns(const Task& t, int64_t group, float* columns) {
  const Shape& in = t.call.shape;
  const int64_t channels = in[1] / t.rule.groups, per_offset_group = in[1] / t.rule.offset_groups;
  const int64_t begin = group * channels, end = begin + channels;
  Reading readings[kBlock];
  for (int64_t tap = 0; tap < t.taps(); ++tap)
    for (int64_t c = begin; c < end; ++c) {
      if (c == begin || c % per_offset_group == 0)
        find_readings(t, c / per_offset_group, tap, readings);
      read(t.call.x + (t.batch * in[1] + c) * in[2] * in[3], readings, t.length,
           columns + ((c - begin) * t.taps() + tap) * kBlock);
    }
}

// Some rows of results: bias + kernel rows * columns. Sums of four rows and eight neighbours fit
// the registers of any processor.
template <int64_t rows>
void multiply(const Task& t, int64_t output_channel, int64_t depth, const float* columns) {
  using Lanes = float __attribute__((vector_size(16)));
  constexpr int64_t kWidth = 8;
  const float* kernel = t.call.kernel + output_channel * depth;
  for (int64_t first = 0; first < t.length; first += kWidth) {
    Lanes low[rows], high[rows];
    for (int64_t r = 0; r < rows; ++r)
      low[r] = high[r] =
          Lanes{} + (t.call.bias != nullptr ? t.call.bias[output_channel + r] : 0.0f);
    for (int64_t d = 0; d < depth; ++d) {
      Lanes a, b;
      std::memcpy(&a, columns + d * kBlock + first, sizeof(a));
      std::memcpy(&b, columns + d * kBlock + first + 4, sizeof(b));
      for (int64_t r = 0; r < rows; ++r) {
        low[r] += kernel[r * depth + d] * a;
        high[r] += kernel[r * depth + d] * b;
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      float sum[kWidth];
      std::memcpy(sum, &low[r], sizeof(low[r]));
      std::memcpy(sum + 4, &high[r], sizeof(high[r]));
      std::copy_n(sum, std::min(kWidth, t.length - first),
                  t.call.y + (t.batch * t.call.result[1] + output_channel + r) * t.plane() + t.first
                      + first);
    }
  }
}

void run_task(const Task& t, std::vector<float>& columns) {
  const int64_t channels = t.call.shape[1] / t.rule.groups,
                output_channels = t.call.result[1] / t.rule.groups;
  const int64_t depth = channels * t.taps();
  columns.assign(static_cast<size_t>(depth * kBlock), 0.0f);
  for (int64_t group = 0; group < t.rule.groups; ++group) {
    fill_columns(t, group, columns.data());
    int64_t output_channel = group * output_channels;
    const int64_t end = output_channel + output_channels;
    for (; output_channel + 4 <= end; output_channel += 4)
      multiply<4>(t, output_channel, depth, columns.data());
    for (; output_channel < end; ++output_channel)
      multiply<1>(t, output_channel, depth, columns.data());
  }
}

}  // namespace

void deformable_convolution(const DeformableConvolutionRule& rule,
                            const DeformableConvolutionCall& call) {
  if (call.result.volume() == 0) return;
  const int64_t plane = call.result[2] * call.result[3], blocks = (plane + kBlock - 1) / kBlock;
  parallel_for(call.result[0] * blocks, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> columns;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kBlock;
      run_task({rule, call, i / blocks, first, std::min(kBlock, plane - first)}, columns);
    }
  });
}

namespace {

std::vector<Window> windows_of(const DeformableConvolution& op, int64_t height, int64_t width) {
  return make_windows(2, Shape{height, width}, op.stride, op.dilation, op.pre_padding,
                      op.post_padding);
}

// Of all offset groups; there are two offsets for each.
int64_t taps_of(const DeformableConvolution& op, const std::vector<Window>& windows) {
  return Shape{op.offset_groups, windows[0].kernel, windows[1].kernel, 2}.volume() / 2;
}

void check_shape(const Inference& c, int i, const char* what, const Dims& expected) {
  bool fits = c.dims(i).size() == expected.size();
  for (size_t k = 0; fits && k < expected.size(); ++k)
    fits =
        !expected[k]->is_constant() || !c.dims(i)[k]->is_constant() || expected[k] == c.dims(i)[k];
  require(fits, "expected {} (input {}) of shape {}, found {}", what, i, text_of(expected),
          text_of(c.dims(i)));
}

}  // namespace

void DeformableConvolution::infer(Inference& c) const {
  require_inputs(c, 3, 5);
  require_float(c, 0, "the data");
  require(c.rank(0) == 4 && c.rank(1) == 4,
          "expected data and kernel of 4 dimensions, found {} and {}", text_of(c.dims(0)),
          text_of(c.dims(1)));
  const auto kernel = c.constant_shape(1);
  require(kernel.has_value() && c.dims(0)[1]->is_integer_constant(),
          "expected constant extents of the kernel and constant channels, found {} and {}",
          text_of(c.dims(1)), text_of(c.dims(0)));
  const int64_t channels = c.dims(0)[1]->value.integer, output_channels = (*kernel)[0];
  require(groups > 0 && output_channels % groups == 0 && channels % groups == 0
              && (*kernel)[1] == channels / groups,
          "a kernel of shape {} and {} groups do not fit {} channels", *kernel, groups, channels);
  require(offset_groups > 0 && channels % offset_groups == 0,
          "{} channels cannot be split into {} offset groups", channels, offset_groups);
  const auto windows = windows_of(*this, (*kernel)[2], (*kernel)[3]);
  Dims dims{c.dims(0)[0], c.pool().constant(output_channels)};
  for (size_t i = 0; i < 2; ++i)
    dims.push_back(
        convolved(c.pool(), c.dims(0)[i + 2], windows[i], PaddingMode::kEXPLICIT_ROUND_DOWN));
  const int64_t taps = taps_of(*this, windows);
  check_shape(c, 2, "offsets", {dims[0], c.pool().constant(2 * taps), dims[2], dims[3]});
  if (c.has_input(3)) check_shape(c, 3, "a bias", {dims[1]});
  if (c.has_input(4))
    check_shape(c, 4, "a mask", {dims[0], c.pool().constant(taps), dims[2], dims[3]});
  for (int i = 1; i < 5; ++i)
    if (c.has_input(i)) require_float(c, i, "the operand");
  c.set_output(0, c.type(0), std::move(dims));
}

void DeformableConvolution::reference(const ReferenceCall& call) const {
  const auto view = [&](size_t i) {
    return i < call.inputs.size() ? call.inputs[i] : TensorView{};
  };
  const TensorView& out = call.outputs[0];
  const Floats x(view(0)), kernel(view(1)), offsets(view(2)), bias(view(3)), mask(view(4));
  const auto windows = windows_of(*this, view(1).shape[2], view(1).shape[3]);
  const int64_t taps = taps_of(*this, windows);
  const Shape& to = out.shape;
  require(view(2).shape == Shape({to[0], 2 * taps, to[2], to[3]})
              && (mask.data() == nullptr || view(4).shape == Shape({to[0], taps, to[2], to[3]})),
          "offsets of shape {} do not fit a result of shape {}", view(2).shape, to);
  std::vector<float> rounded(out.type == DataType::kFLOAT ? 0 : static_cast<size_t>(to.volume()));
  float* y = out.type == DataType::kFLOAT ? out.as<float>() : rounded.data();
  const auto axis = [&](size_t i) {
    return KernelAxis{windows[i].kernel, windows[i].stride, windows[i].dilation, windows[i].pre};
  };
  deformable_convolution(
      {axis(0), axis(1), groups, offset_groups},
      {x.data(), view(0).shape, kernel.data(), offsets.data(), bias.data(), mask.data(), y, to});
  with_float(out.type, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < rounded.size(); ++i) out.as<T>()[i] = store<T>(rounded[i]);
  });
}

double DeformableConvolution::operations(std::span<const Shape> inputs,
                                         std::span<const Shape> outputs) const {
  const auto taps = static_cast<double>(inputs[1].volume(1, inputs[1].rank()));
  return kMultiplyAdd * taps * count_of(outputs[0]);
}

}  // namespace tenon
