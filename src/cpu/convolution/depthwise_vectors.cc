#include "cpu/convolution/depthwise_vectors.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu {
namespace {

bool fits(Layout layout, int64_t channels, int64_t lanes) {
  return layout == Layout::kChannelsLast ? channels >= lanes : channel_block(layout) >= lanes;
}

constexpr size_t kBias = 2;

Tensor zeros(int64_t count) {
  Tensor t(DataType::kFLOAT, {count});
  std::fill_n(t.mutable_data<float>(), count, 0.f);
  return t;
}

// Numbers of each channel: vector, number, lane.
Tensor arranged(const Tensor& rows, const DepthwiseVectors& vectors) {
  const int64_t lanes = vectors.lanes(), each = rows.count() / vectors.channels;
  Tensor out(DataType::kFLOAT, {vectors.blocks() * vectors.per_block() * lanes * each});
  auto* to = out.mutable_data<float>();
  std::fill_n(to, out.count(), 0.f);
  for (int64_t block = 0; block < vectors.blocks(); ++block)
    for (int64_t v = 0; v < vectors.per_block(); ++v, to += lanes * each) {
      const int64_t first = block * vectors.width() + vectors.first_lane(v);
      for (int64_t c = 0; c < std::min(lanes, vectors.channels - first); ++c)
        for (int64_t i = 0; i < each; ++i)
          to[i * lanes + c] = rows.data<float>()[(first + c) * each + i];
    }
  return out;
}

}  // namespace

std::optional<DepthwiseVectors> vectors_of(Layout layout, int64_t channels) {
  const DepthwiseKernels* best = &simd_kernels().depthwise;
  if (fits(layout, channels, best->lanes)) return DepthwiseVectors{channels, layout, best};
  const DepthwiseKernels* half = &avx2::kKernels.depthwise;
  if (best->lanes > half->lanes && fits(layout, channels, half->lanes))
    return DepthwiseVectors{channels, layout, half};
  return std::nullopt;
}

DepthwiseVectors vectors_for(Layout arrives, int64_t channels) {
  if (arrives == Layout::kChannelsLast)
    if (const auto vectors = vectors_of(arrives, channels)) return *vectors;
  const DepthwiseKernels& best = simd_kernels().depthwise;
  return {channels, blocked_layout(best.lanes), &best};
}

DepthwiseWeights arranged(const DepthwiseWeights& weights, const DepthwiseVectors& vectors) {
  return {arranged(weights.weights, vectors), arranged(weights.bias, vectors)};
}

namespace {

void check(const DepthwiseWeights& found, const Convolution& op) {
  const auto& [weights, bias] = found;
  require(weights.type() == DataType::kFLOAT && bias.type() == DataType::kFLOAT
              && weights.count() == Shape({op.groups, op.kernel.volume()}).volume()
              && bias.count() == op.groups,
          "weights of {} elements and a bias of {} do not fit {} channels and windows of {}",
          weights.count(), bias.count(), op.groups, op.kernel);
}

}  // namespace

std::optional<DepthwiseWeights> constant_depthwise_weights(const Convolution& op,
                                                           const KernelRequest& request) {
  const auto* constants = request.constants.data();
  const bool has_bias = request.inputs.size() > kBias && request.inputs[kBias].present;
  if (constants[1] == nullptr || (has_bias && constants[kBias] == nullptr)) return std::nullopt;
  const DepthwiseWeights found{*constants[1], has_bias ? *constants[kBias] : zeros(op.groups)};
  check(found, op);
  return found;
}

DepthwiseWeights stored_depthwise_weights(const Convolution& op, const StoredKernel& stored) {
  const auto& packed = stored.packed;
  require(packed.size() == 2, "{} stored tensors, expected weights and bias", packed.size());
  const DepthwiseWeights found{packed[0], packed[1]};
  check(found, op);
  return found;
}

DepthwiseForm depthwise_form(const Convolution& op, const DepthwiseVectors& vectors,
                             std::span<const TensorSpec> inputs, const Shape& result) {
  const Shape& data = inputs[0].shape;
  const auto windows = convolution_windows(op, inputs, result);
  require(data[1] == op.groups, "data of {} channels, expected {}", data[1], op.groups);
  const auto axis = [](const Window& w, int64_t extent) {
    return DepthwiseForm::Axis{extent, w.kernel, w.stride, w.dilation, w.pre};
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return {axis(windows[0], data[2]),
          axis(windows[1], data[3]),
          result[3],
          vectors.width(),
          -kInfinity,
          kInfinity};
}

std::string refusal_of_depthwise(const Convolution& op, const KernelRequest& request) {
  if (const std::string reason = refusal_of_planes(op.kernel, request); !reason.empty())
    return reason;
  if (op.groups < 2 || request.inputs[0].shape[1] != op.groups || op.output_channels != op.groups)
    return "only one input and one output channel per group are supported";
  return "";
}

}  // namespace tenon::cpu
