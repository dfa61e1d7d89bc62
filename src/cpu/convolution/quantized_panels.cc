#include "cpu/convolution/quantized_panels.h"

#include <algorithm>
#include <cmath>

#include "cpu/convolution/direct_panels.h"
#include "network/network.h"
#include "ops/dequantize.h"
#include "ops/support/reference.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kMaxPanel = kPanelVectors * 16;  // output channels of any machine

std::vector<float> numbers_of(const Tensor& t) {
  const Floats floats(view_of(t));
  return {floats.data(), floats.data() + t.count()};
}

bool is_integer_weights(DataType type) {
  return type == DataType::kINT4 || type == DataType::kINT8 || type == DataType::kUINT8;
}

/// Where what belongs to a row and an output channel lies: in the matrix, or among the scales.
struct Steps {
  int64_t row, output_channel;
  int64_t of(int64_t k, int64_t n) const { return k * row + n * output_channel; }
};

/// The matrix as Dequantize read it.
struct Source {
  std::vector<float> values, scale, zero;  // no zero point: none
  Steps matrix, scales;
  int64_t group, channels_of_a_scale;

  int64_t scale_at(int64_t k, int64_t n) const {
    return scales.of(k / group, n / channels_of_a_scale);
  }
};

Variant<Source, std::string> source_of(const Folded* folded, bool is_transposed, int64_t rows,
                                       int64_t output_channels) {
  const auto* op = folded != nullptr ? dynamic_cast<const Dequantize*>(folded->op.get()) : nullptr;
  if (op == nullptr || op->to != DataType::kFLOAT) return "the weights are not quantized";
  const Tensor &values = folded->inputs[0], &scale = folded->inputs[1];
  if (!is_integer_weights(values.type())) return "the weights are not int4, int8 or uint8";
  const Shape& shape = values.shape();
  const int rank = shape.rank();
  const int row_axis = rank - (is_transposed ? 1 : 2),
            channel_axis = rank - (is_transposed ? 2 : 1);
  if (rank < 2 || shape.volume(0, rank - 2) != 1 || shape[row_axis] != rows
      || shape[channel_axis] != output_channels || values.count() == 0)
    return "the quantized weights are not one matrix";
  const Shape blocks = block_extents(op->layout, shape, scale.shape());
  Source source;
  source.group = std::min(blocks[row_axis], rows);
  source.channels_of_a_scale = std::min(blocks[channel_axis], output_channels);
  const int64_t groups = units(rows, source.group),
                channel_groups = units(output_channels, source.channels_of_a_scale);
  if (scale.count() != groups * channel_groups) return "scales do not lie along the matrix alone";
  source.matrix = is_transposed ? Steps{1, rows} : Steps{output_channels, 1};
  source.scales = is_transposed ? Steps{1, groups} : Steps{channel_groups, 1};
  source.values = numbers_of(values);
  source.scale = numbers_of(scale);
  if (folded->inputs.size() > 2 && folded->inputs[2].count() > 0)
    source.zero = numbers_of(folded->inputs[2]);
  return source;
}

}  // namespace

Variant<QuantizedPanels, std::string> QuantizedPanels::take(const Folded* folded,
                                                            bool is_transposed, int64_t rows,
                                                            int64_t output_channels) {
  auto found = source_of(folded, is_transposed, rows, output_channels);
  if (auto* reason = std::get_if<std::string>(&found)) return std::move(*reason);
  const Source source = std::get<Source>(std::move(found));
  const auto [smallest, largest] = std::minmax_element(source.values.begin(), source.values.end());
  const float base = *smallest;  // stored bytes begin with 0
  QuantizedPanels panels;
  const bool has_pairs = source.group % 2 == 0 || source.group == rows;
  panels.bits = *largest - base < 16 && has_pairs ? 4 : 8;
  panels.rows = rows;
  panels.group = source.group;

  const int64_t all = padded_channels(output_channels);
  panels.values = Tensor(DataType::kUINT8, panels.packed_shape(output_channels));
  panels.scale = Tensor(DataType::kFLOAT, {all * panels.groups()});
  const bool one_zero = std::all_of(source.zero.begin(), source.zero.end(),
                                    [&](float z) { return z == source.zero.front(); });
  panels.zero = Tensor(DataType::kFLOAT, {one_zero ? 1 : all * panels.groups()});
  auto* const bytes = panels.values.mutable_data<uint8_t>();
  auto *const scale = panels.scale.mutable_data<float>(), *const zero =
                                                              panels.zero.mutable_data<float>();
  std::fill_n(bytes, panels.values.count(), uint8_t{0});
  std::fill_n(scale, panels.scale.count(), 0.f);
  std::fill_n(zero, panels.zero.count(), source.zero.empty() ? -base : source.zero.front() - base);
  for (int64_t first = 0; first < output_channels; first += direct_panel()) {
    const int64_t width = std::min(direct_panel(), all - first);
    for (int64_t n = first; n < std::min(first + width, output_channels); ++n) {
      for (int64_t g = 0; g < panels.groups(); ++g) {
        const int64_t at = first * panels.groups() + g * width + n - first;
        const auto from = static_cast<size_t>(source.scale_at(g * panels.group, n));
        scale[at] = source.scale[from];
        if (!one_zero) zero[at] = source.zero[from] - base;
      }
      for (int64_t k = 0; k < rows; ++k) {
        const float value = source.values[static_cast<size_t>(source.matrix.of(k, n))] - base;
        const auto byte = static_cast<uint8_t>(value);
        const int64_t row = panels.bits == 4 ? k / 2 : k;
        bytes[first * panels.packed_rows() + row * width + n - first] |=
            static_cast<uint8_t>(panels.bits == 4 && k % 2 != 0 ? byte << 4 : byte);
      }
    }
  }
  return panels;
}

void QuantizedPanels::visit(FieldVisitor& v) {
  v("bits", bits);
  v("rows", rows);
  v("group", group);
}

bool QuantizedPanels::fit(int64_t output_channels) const {
  if ((bits != 4 && bits != 8) || rows < 1 || group < 1 || group > rows) return false;
  if (bits == 4 && group % 2 != 0 && group != rows) return false;
  const int64_t all = padded_channels(output_channels);
  return values.type() == DataType::kUINT8 && scale.type() == DataType::kFLOAT
         && zero.type() == DataType::kFLOAT && values.shape() == packed_shape(output_channels)
         && scale.shape() == Shape({Shape({all, groups()}).volume()})
         && (zero.count() == 1 || zero.shape() == scale.shape());
}

Shape QuantizedPanels::packed_shape(int64_t output_channels) const {
  const int64_t lanes = direct_loops().lanes;
  return {Shape({padded_channels(output_channels) / lanes, packed_rows()}).volume(), lanes};
}

const uint8_t* QuantizedPanels::packed(int64_t output_channel, int64_t width, int64_t row) const {
  return values.data<uint8_t>() + output_channel * packed_rows()
         + (bits == 4 ? row / 2 : row) * width;
}

template <class Body>
void QuantizedPanels::for_groups(int64_t output_channel, int64_t width, const Share& of,
                                 const Body& body) const {
  float one_zero[kMaxPanel];
  const bool is_one = zero.count() == 1;
  if (is_one) std::fill_n(one_zero, width, *zero.data<float>());
  for (int64_t row = of.first; row < of.end;) {
    const int64_t g = row / group, end = std::min((g + 1) * group, of.end);
    const int64_t at = output_channel * groups() + g * width;
    body(QuantizedGroup{packed(output_channel, width, row), scale.data<float>() + at,
                        is_one ? one_zero : zero.data<float>() + at, end - row},
         row);
    row = end;
  }
}

void QuantizedPanels::dequantize(int64_t output_channel, int64_t width, const Share& of,
                                 float* to) const {
  const auto run = bits == 4 ? simd_kernels().dequantize_nibbles : simd_kernels().dequantize_bytes;
  for_groups(output_channel, width, of, [&](const QuantizedGroup& rows_of_group, int64_t row) {
    run(rows_of_group, width, to + (row - of.first) * width);
  });
}

void QuantizedPanels::multiply(int64_t output_channel, int64_t width, const float* x,
                               int64_t x_step, int64_t x_rows, float* sums) const {
  const auto run = bits == 4 ? simd_kernels().multiply_nibbles : simd_kernels().multiply_bytes;
  for_groups(output_channel, width, {0, rows}, [&](const QuantizedGroup& rows_of_group, int64_t k) {
    run(rows_of_group, x + k, x_step, x_rows, width / direct_loops().lanes, sums);
  });
}

NextRead QuantizedPanels::read_of(int64_t output_channel, int64_t width, const Share& of) const {
  const uint8_t* const first = packed(output_channel, width, of.first);
  const int64_t bytes = (of.end - of.first) * width * bits / 8;
  return {reinterpret_cast<const float*>(first), bytes / static_cast<int64_t>(sizeof(float))};
}

}  // namespace tenon::cpu
