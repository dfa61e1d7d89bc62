// Constant matrices of products as integers with a scale for each group, with DequantizeLinear
// behind them.
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "base/half.h"
#include "base/low_precision.h"
#include "base/parallel.h"
#include "edit/undone.h"
#include "edit/value_types.h"
#include "edit/values.h"
#include "ops/support/reference.h"

namespace tenon::edit {
namespace {

constexpr int64_t kBlockedOpset = 21;  // the first with int4 and with blocks that share a scale
constexpr int64_t kInt4IrVersion = 10;
constexpr int64_t kChannelOpset = 13;  // the first with a scale for each channel
constexpr int64_t kHalfOpset = 19;     // the first with such scales in float16

/// A matrix that a product sums over along `axis`, in groups.
struct Matrix {
  int64_t rows, columns;
  int axis;
  int64_t group;

  int64_t depth() const { return axis == 0 ? rows : columns; }
  int64_t channels() const { return axis == 0 ? columns : rows; }
  int64_t groups() const { return (depth() + group - 1) / group; }
  int64_t at(int64_t k, int64_t channel) const {
    return axis == 0 ? k * columns + channel : channel * columns + k;
  }
  int64_t scale_at(int64_t g, int64_t channel) const {
    return axis == 0 ? g * columns + channel : channel * groups() + g;
  }
};

struct Range {
  float min, max;  // of the integers
};

double squared_error(std::span<const float> numbers, float scale, Range range) {
  double sum = 0;
  for (const float x : numbers) {
    const float rounded = std::clamp(std::nearbyint(x / scale), range.min, range.max);
    const double error = double{x} - double{rounded} * double{scale};
    sum += error * error;
  }
  return sum;
}

// The scale of the least squared error among those that cut off some of the largest numbers: with
// few integers, finer steps for the others are worth that.
float scale_of(std::span<const float> numbers, Range range) {
  float magnitude = 0;
  for (const float x : numbers) magnitude = std::max(magnitude, std::abs(x));
  if (magnitude == 0) return 1;
  const float whole = magnitude / range.max;
  if (range.max > 7) return whole;
  constexpr int kCandidates = 12;
  constexpr float kStep = 0.04F;
  float best = whole;
  double smallest = squared_error(numbers, whole, range);
  for (int i = 1; i < kCandidates; ++i) {
    const float scale = whole * (1 - kStep * static_cast<float>(i));
    if (const double error = squared_error(numbers, scale, range); error < smallest) {
      smallest = error;
      best = scale;
    }
  }
  return best;
}

// As the model stores it, and never 0.
float stored(float scale, DataType type) {
  constexpr float kSmallestHalf = 0x1p-24F;
  if (type == DataType::kHALF) return std::max(static_cast<float>(Half(scale)), kSmallestHalf);
  return std::max(scale, std::numeric_limits<float>::denorm_min());
}

struct Quantized {
  std::vector<float> integers, scales;
};

Quantized quantized(const float* weights, const Matrix& m, Range range, DataType type) {
  Quantized q{std::vector<float>(static_cast<size_t>(m.rows * m.columns)),
              std::vector<float>(static_cast<size_t>(m.groups() * m.channels()))};
  parallel_for(m.channels(), std::max<int64_t>(1, 4096 / m.depth()),
               [&](int64_t begin, int64_t end) {
                 std::vector<float> numbers;
                 for (int64_t channel = begin; channel < end; ++channel)
                   for (int64_t g = 0; g < m.groups(); ++g) {
                     const int64_t first = g * m.group, last = std::min(first + m.group, m.depth());
                     numbers.clear();
                     for (int64_t k = first; k < last; ++k)
                       numbers.push_back(weights[m.at(k, channel)]);
                     const float scale = stored(scale_of(numbers, range), type);
                     q.scales[static_cast<size_t>(m.scale_at(g, channel))] = scale;
                     for (int64_t k = first; k < last; ++k)
                       q.integers[static_cast<size_t>(m.at(k, channel))] = std::clamp(
                           std::nearbyint(weights[m.at(k, channel)] / scale), range.min, range.max);
                   }
               });
  return q;
}

Tensor integer_tensor(const std::vector<float>& integers, const Shape& shape, int bits) {
  Tensor t(bits == 4 ? DataType::kINT4 : DataType::kINT8, shape);
  if (bits == 4) {
    write_low_precision(t.type(), integers.data(), 0, t.count(), t.mutable_data<void>());
  } else {
    std::transform(integers.begin(), integers.end(), t.mutable_data<int8_t>(),
                   [](float x) { return static_cast<int8_t>(x); });
  }
  return t;
}

Tensor scale_tensor(const std::vector<float>& scales, const Shape& shape, DataType type) {
  if (type == DataType::kFLOAT) return Tensor::of<float>(type, shape, std::span(scales));
  Tensor t(type, shape);
  std::transform(scales.begin(), scales.end(), t.mutable_data<Half>(),
                 [](float x) { return Half(x); });
  return t;
}

class Quantizer {
 public:
  Quantizer(Store& store, const WeightQuantization& options) : store_(store), options_(options) {}

  WeightQuantizationReport run() {
    for (const Id graph : graphs_outside_functions(store_))
      for (const Id id : store_.items(graph, Kind::kNode)) {
        const NodeContent& node = store_.node(id);
        const bool is_product =
            is_standard_node(node) && (node.op_type == "MatMul" || node.op_type == "Gemm");
        if (is_product && node.inputs.size() > 1) visit(graph, id);
      }
    for (const std::string& name : options_.keep)
      require(kept_.contains(name), ErrorClass::kNotInModel, "there is no product '{}' to keep",
              printable(name));
    return report_;
  }

  /// Whether there are scales in float16.
  bool has_halves() const { return has_halves_; }

 private:
  void visit(Id graph, Id id) {
    const NodeContent& node = store_.node(id);
    const std::string name = shown_name(store_, id);
    if (options_.keep.contains(name)) {
      kept_.insert(name);
      return;
    }
    const Id initializer = store_.producer(graph, node.inputs[1]);
    if (initializer == kNone || !is_constant(store_, graph, node.inputs[1])) return;
    const bool is_transposed = node.op_type == "Gemm" && integer_attribute(node, "transB", 0) != 0;
    const int axis = is_transposed ? 1 : 0;
    const std::string_view floats = dequantized(graph, initializer, node.inputs[1], axis);
    if (floats.empty()) return;
    NodeDraft draft = store_.draft(id);
    draft.content.inputs[1] = floats;
    store_.replace_node(id, std::move(draft));
    ++report_.products;
  }

  // The tensor that stands for the weights; "" for those that stay. One for all that read them so.
  std::string_view dequantized(Id graph, Id initializer, std::string_view name, int axis) {
    const auto [it, is_new] = done_.try_emplace({initializer, axis});
    if (!is_new) return it->second;
    const auto weights = constant_of(store_, graph, name);
    if (!weights || weights->shape().rank() != 2 || weights->count() == 0
        || (weights->type() != DataType::kFLOAT && weights->type() != DataType::kHALF))
      return {};
    return it->second = insert(store_.item(initializer).container, initializer, *weights, axis);
  }

  std::string_view insert(Id graph, Id initializer, const Tensor& weights, int axis) {
    const std::string name(store_.item(initializer).kind == Kind::kNode
                               ? store_.node(initializer).outputs[0]
                               : store_.content(initializer).name);
    const Shape& shape = weights.shape();
    Matrix m{shape[0], shape[1], axis, 0};
    m.group = options_.group == 0 ? m.depth() : std::min(options_.group, m.depth());
    const float largest = options_.bits == 4 ? 7 : 127;
    const Floats floats(view_of(weights));
    for (const float x : std::span(floats.data(), static_cast<size_t>(weights.count())))
      require(std::isfinite(x), "the weights '{}' have {}: only finite ones can be quantized",
              printable(name), x);
    const Quantized q = quantized(floats.data(), m, {-largest - 1, largest}, weights.type());
    const bool is_blocked = m.groups() > 1;
    const Shape scales = !is_blocked   ? Shape{m.channels()}
                         : m.axis == 0 ? Shape{m.groups(), m.columns}
                                       : Shape{m.rows, m.groups()};
    const std::string_view integers = store_.new_name(name + "_quantized");
    const std::string_view scale = store_.new_name(name + "_scale");
    const std::string_view result = store_.new_name(name + "_dequantized");
    const Tensor packed = integer_tensor(q.integers, shape, options_.bits);
    const Tensor scaling = scale_tensor(q.scales, scales, weights.type());
    insert_tensor(store_, graph, integers, packed);
    insert_tensor(store_, graph, scale, scaling);
    NodeDraft draft =
        standard_node(store_, "DequantizeLinear", result, {integers, scale}, {result});
    draft.set(attribute(store_, "axis", is_blocked ? int64_t{axis} : int64_t{1 - axis}));
    if (is_blocked) draft.set(attribute(store_, "block_size", m.group));
    const auto nodes = store_.items(graph, Kind::kNode);
    store_.insert_node(graph, std::move(draft), nodes.empty() ? kNone : nodes.front());
    has_halves_ = has_halves_ || weights.type() == DataType::kHALF;
    report_.bytes_before += weights.bytes();
    report_.bytes_after += packed.bytes() + scaling.bytes();
    return result;
  }

  Store& store_;
  const WeightQuantization& options_;
  WeightQuantizationReport report_;
  bool has_halves_ = false;
  std::map<std::pair<Id, int>, std::string_view> done_;
  std::set<std::string> kept_;
};

}  // namespace

WeightQuantizationReport quantize_weights(Model& model, const WeightQuantization& options) {
  require(options.bits == 4 || options.bits == 8, "weights of {} bits: give 4 or 8", options.bits);
  require(options.group >= 0 && options.group % 2 == 0,
          "groups of {} weights: give an even number, or 0 for a scale for each channel",
          options.group);
  return undone_unless(model, [&] {
    const int64_t needed = options.bits == 4 || options.group > 0 ? kBlockedOpset : kChannelOpset;
    if (opset_of(model.store(), 0) < needed) convert_opset(model, needed);
    Quantizer quantizer(model.store(), options);
    const WeightQuantizationReport report = quantizer.run();
    if (quantizer.has_halves() && opset_of(model.store(), 0) < kHalfOpset)
      convert_opset(model, kHalfOpset);
    if (options.bits == 4 && report.products > 0) raise_ir_version(model.store(), kInt4IrVersion);
    remove_unused(model);
    return report;
  });
}

}  // namespace tenon::edit
