#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/half.h"
#include "base/parallel.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"
#include "ops/elementwise.h"
#include "ops/fully_connected.h"
#include "ops/matrix_multiply.h"
#include "ops/scale.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

using Numbers = std::vector<double>;
using Operation = nvinfer1::ElementWiseOperation;

// y = x * scale + shift, by output channel.
struct Affine {
  Numbers scale, shift;
};

// What a layer with weights must tell: its channels, and to which one each kernel element belongs.
struct Weighted {
  int axis = 1;  // of the output
  int64_t channels = 0;
  // The kernel is blocks of inner_channels times `inner` elements. The channels of a block begin at
  // (first element / outer_size / inputs_per_group) * inner_channels.
  int64_t inner = 1, inner_channels = 0, outer_size = 0, inputs_per_group = 0;
  Shape bias_shape;

  int64_t block() const { return inner * inner_channels; }
  int64_t first_channel(int64_t element) const {
    return element / outer_size / inputs_per_group * inner_channels;
  }
};

Weighted outermost(int64_t channels, int64_t elements) {
  Weighted w;
  w.channels = channels;
  w.inner = elements / channels;
  w.inner_channels = channels;
  w.outer_size = elements;
  w.inputs_per_group = 1;
  w.bias_shape = Shape{channels};
  return w;
}

std::optional<Weighted> describe_product(const Node& node, const MatrixMultiply& op,
                                         const Tensor& kernel) {
  const int rank = static_cast<int>(node.outputs[0]->dims.size());
  const bool transposed = op.operation_b == nvinfer1::MatrixOperation::kTRANSPOSE;
  if (!op.epilogue.empty() || kernel.shape().rank() < 2 || kernel.shape().rank() != rank
      || op.operation_a == nvinfer1::MatrixOperation::kVECTOR
      || op.operation_b == nvinfer1::MatrixOperation::kVECTOR)
    return std::nullopt;
  const Shape& shape = kernel.shape();
  Weighted w;
  w.axis = rank - 1;
  w.channels = w.inner_channels = shape[transposed ? rank - 2 : rank - 1];
  w.inner = transposed ? shape[rank - 1] : 1;
  w.outer_size = kernel.count();
  w.inputs_per_group = 1;
  w.bias_shape = Shape::filled(rank, 1);
  w.bias_shape[rank - 1] = w.channels;
  return w;
}

std::optional<Weighted> describe_weights(const Node& node) {
  if (node.inputs.size() < 2 || !is_plain(node) || !is_float_only(node)) return std::nullopt;
  const Tensor* kernel = float_constant(node.inputs[1]);
  if (kernel == nullptr || kernel->count() == 0) return std::nullopt;
  if (node.inputs.size() > 2 && node.inputs[2] != nullptr && !float_constant(node.inputs[2]))
    return std::nullopt;
  if (const auto* op = node.as<Convolution>(); op != nullptr && op->epilogue.empty())
    return outermost(op->output_channels, kernel->count());
  if (const auto* op = node.as<FullyConnected>()) {
    Weighted w = outermost(op->outputs, kernel->count());
    w.axis = static_cast<int>(node.outputs[0]->dims.size()) - 3;
    return w;
  }
  if (const auto* op = node.as<Deconvolution>(); op != nullptr && op->epilogue.empty()) {
    Weighted w;
    w.channels = op->output_channels;
    w.inner = op->kernel.volume();
    w.inner_channels = op->output_channels / op->groups;
    w.outer_size = w.inner * w.inner_channels;
    w.inputs_per_group = kernel->count() / w.outer_size / op->groups;
    w.bias_shape = Shape{op->output_channels};
    return w;
  }
  if (const auto* op = node.as<MatrixMultiply>()) return describe_product(node, *op, *kernel);
  return std::nullopt;
}

std::optional<Affine> affine_of_scale(const Node& node, const Scale& op, const Weighted& w) {
  const auto input = [&](size_t i) { return i < node.inputs.size() ? node.inputs[i] : nullptr; };
  const bool by_channel = op.mode == nvinfer1::ScaleMode::kCHANNEL && op.channel_axis == w.axis;
  if (!by_channel && op.mode != nvinfer1::ScaleMode::kUNIFORM) return std::nullopt;
  const auto numbers = [&](size_t i, double absent) -> std::optional<Numbers> {
    const auto size = static_cast<size_t>(w.channels);
    if (input(i) == nullptr) return Numbers(size, absent);
    const Tensor* t = float_constant(input(i));
    if (t == nullptr) return std::nullopt;
    if (t->count() == 1) return Numbers(size, t->numbers()[0]);
    return by_channel && t->count() == w.channels ? std::optional(t->numbers()) : std::nullopt;
  };
  const auto shift = numbers(1, 0), scale = numbers(2, 1), power = numbers(3, 1);
  if (!shift || !scale || !power) return std::nullopt;
  for (double p : *power)
    if (p != 1) return std::nullopt;
  return Affine{*scale, *shift};
}

std::optional<Affine> affine_of_elementwise(const Node& node, const ElementWise& op, const Value& x,
                                            const Weighted& w) {
  const bool on_left = node.inputs[0] == &x;
  auto operand = along_axis(node.inputs[on_left ? 1 : 0], w.axis, w.channels);
  if (!operand) return std::nullopt;
  Numbers ones(operand->size(), 1), zeros(operand->size(), 0);
  switch (op.operation) {
    case Operation::kSUM:
      return Affine{ones, *operand};
    case Operation::kPROD:
      return Affine{*operand, zeros};
    case Operation::kSUB:
      for (double& v : on_left ? *operand : ones) v = -v;
      return Affine{ones, *operand};
    case Operation::kDIV:
      if (!on_left) return std::nullopt;
      for (double& v : *operand) {
        if (v == 0) return std::nullopt;
        v = 1 / v;
      }
      return Affine{*operand, zeros};
    default:
      return std::nullopt;
  }
}

std::optional<Affine> affine_of(const Node& node, const Value& x, const Weighted& w) {
  if (!is_plain(node) || node.outputs[0]->dims != x.dims) return std::nullopt;
  if (const auto* op = node.as<Scale>())  // its parameters may be wider than the data
    return node.inputs[0] == &x ? affine_of_scale(node, *op, w) : std::nullopt;
  if (!is_float_only(node)) return std::nullopt;
  if (const auto* op = node.as<ElementWise>()) return affine_of_elementwise(node, *op, x, w);
  return std::nullopt;
}

// Elements of the kernel times the scale of its channel. False when a number does not fit the type.
template <class T>
bool scale_elements(const Tensor& kernel, const Weighted& w, const Numbers& scale, Tensor& scaled) {
  const T* const x = kernel.data<T>();
  T* const y = scaled.mutable_data<T>();
  std::atomic<int> misfits = 0;
  // A row is the elements that lie together and have one scale.
  constexpr int64_t kElements = 1 << 14;
  const int64_t grain = std::max<int64_t>(kElements / w.inner, 1);
  parallel_for(kernel.count() / w.inner, grain, [&](int64_t begin, int64_t end) {
    int bad = 0;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row / w.inner_channels * w.block();
      const double by = scale[static_cast<size_t>(w.first_channel(first) + row % w.inner_channels)];
      for (int64_t i = row * w.inner; i < (row + 1) * w.inner; ++i) {
        const double product = static_cast<double>(static_cast<float>(x[i])) * by;
        y[i] = static_cast<T>(static_cast<float>(product));
        bad |= std::isfinite(product) & !std::isfinite(static_cast<float>(y[i]));
      }
    }
    misfits |= bad;
  });
  return misfits == 0;
}

bool scale_elements(const Tensor& kernel, const Weighted& w, const Numbers& scale, Tensor& scaled) {
  switch (kernel.type()) {
    case DataType::kFLOAT:
      return scale_elements<float>(kernel, w, scale, scaled);
    case DataType::kHALF:
      return scale_elements<Half>(kernel, w, scale, scaled);
    case DataType::kBF16:
      return scale_elements<BFloat16>(kernel, w, scale, scaled);
    default:
      return false;
  }
}

bool fold(Patch& patch, const Node& main, const Weighted& w, const Affine& total,
          const std::vector<Node*>& merged) {
  const Tensor& kernel = *main.inputs[1]->constant;
  Numbers bias = total.shift;
  if (main.inputs.size() > 2 && main.inputs[2] != nullptr) {
    const Tensor& old = *main.inputs[2]->constant;
    if (old.count() != w.channels && old.count() != 1) return false;
    const Numbers before = old.numbers();
    for (size_t c = 0; c < bias.size(); ++c)
      bias[c] += before[before.size() == 1 ? 0 : c] * total.scale[c];
  }
  auto new_bias = to_tensor(kernel.type(), w.bias_shape, bias);
  if (!new_bias) return false;
  Value* kernel_weight = main.inputs[1];
  const bool shifts_only =
      std::all_of(total.scale.begin(), total.scale.end(), [](double s) { return s == 1; });
  if (!shifts_only) {
    Tensor scaled(kernel.type(), kernel.shape());
    if (!scale_elements(kernel, w, total.scale, scaled)) return false;
    kernel_weight = &patch.weight(std::move(scaled), main.inputs[1]->name);
  }
  Value& bias_weight = patch.weight(std::move(*new_bias), main.name + " bias");
  patch.fuse(main.op->clone(), {main.inputs[0], kernel_weight, &bias_weight}, merged);
  return true;
}

}  // namespace

std::optional<Patch> fold_scale(const Network& network, const Target&) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    const auto weighted = describe_weights(*node);
    if (!weighted) continue;
    const auto size = static_cast<size_t>(weighted->channels);
    Affine total{Numbers(size, 1), Numbers(size, 0)};
    std::vector<Node*> merged{node.get()};
    while (Node* next = uses.only(*merged.back()->outputs[0])) {
      const auto step = affine_of(*next, *merged.back()->outputs[0], *weighted);
      if (!step) break;
      for (size_t c = 0; c < size; ++c) {
        total.scale[c] *= step->scale[c];
        total.shift[c] = total.shift[c] * step->scale[c] + step->shift[c];
      }
      merged.push_back(next);
    }
    if (merged.size() > 1) fold(patch, *node, *weighted, total, merged);
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
