#include "optimize/quantization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "network/reference_run.h"
#include "ops/activation.h"
#include "ops/dequantize.h"

namespace tenon {

std::optional<Tensor> known(const Value* v, int depth) {
  if (v == nullptr) return std::nullopt;
  if (v->constant) return v->constant;
  const Node* node = v->producer;
  constexpr int kDeepest = 4;
  if (node == nullptr || node->outputs.size() != 1 || depth == kDeepest || node->op->is_plugin()
      || node->inputs.empty())
    return std::nullopt;
  std::vector<std::optional<Tensor>> tensors;
  for (const Value* in : node->inputs) {
    tensors.push_back(known(in, depth + 1));
    if (in != nullptr && !tensors.back()) return std::nullopt;
  }
  std::vector<const Tensor*> inputs;
  for (const auto& t : tensors) inputs.push_back(t ? &*t : nullptr);
  try {
    return run_reference(*node, inputs, kLargestWeights)[0];
  } catch (const Error&) {
    return std::nullopt;  // it fails when the network runs, if it does
  }
}

namespace {

std::optional<double> one_number(const Value* v) {
  const auto t = known(v);
  if (!t || t->count() != 1) return std::nullopt;
  return t->numbers()[0];
}

}  // namespace

std::optional<Uniform> uniform_of(const Node& node) {
  Uniform u;
  const auto scale = one_number(node.inputs[1]);
  if (!scale || !(*scale > 0)) return std::nullopt;
  u.scale = *scale;
  if (node.inputs.size() < 3 || node.inputs[2] == nullptr) return u;
  const auto zero = one_number(node.inputs[2]);
  if (!zero) return std::nullopt;
  if (*zero != 0) u.zero = node.inputs[2];  // kernels for symmetric integers take none
  u.zero_number = *zero;
  return u;
}

std::optional<QuantizedBytes> quantized_bytes(const Node& node) {
  const auto* quantize = node.as<Quantize>();
  const bool is_float8 = quantize != nullptr && quantize->to == DataType::kFP8;
  if (quantize == nullptr || !(is_byte(quantize->to) || (is_float8 && quantize->saturate))
      || !is_plain(node))
    return std::nullopt;
  const auto uniform = uniform_of(node);
  if (!uniform) return std::nullopt;
  const auto scale = static_cast<float>(uniform->scale);
  if (is_float8) {
    if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(1 / scale)
        || uniform->zero != nullptr)
      return std::nullopt;
    return QuantizedBytes{true, scale, 0, quantize->to, {}};
  }
  const IntegerRange range = integer_range(quantize->to);
  if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(1 / scale)
      || quantize->lowest < range.lowest || quantize->highest > range.highest)
    return std::nullopt;
  return QuantizedBytes{true,
                        scale,
                        static_cast<int32_t>(uniform->zero_number),
                        quantize->to,
                        {quantize->lowest, quantize->highest}};
}

std::optional<Dequantized> dequantized_bytes(const Value* v) {
  Node* node = v != nullptr ? v->producer : nullptr;
  const Dequantize* op = node != nullptr ? node->as<Dequantize>() : nullptr;
  if (op == nullptr || !is_plain(*node) || op->to != DataType::kFLOAT
      || !is_byte(node->inputs[0]->type))
    return std::nullopt;
  const auto scale = uniform_of(*node);
  if (!scale) return std::nullopt;
  return Dequantized{node, *scale};
}

std::unique_ptr<QuantizedConvolution> quantized_form(const Convolution& convolution) {
  auto integers = std::make_unique<QuantizedConvolution>();
  integers->output_channels = convolution.output_channels;
  integers->kernel = convolution.kernel;
  integers->stride = convolution.stride;
  integers->dilation = convolution.dilation;
  integers->pre_padding = convolution.pre_padding;
  integers->post_padding = convolution.post_padding;
  integers->padding_mode = convolution.padding_mode;
  integers->groups = convolution.groups;
  return integers;
}

namespace {

struct Bounds {
  float low, high;
};

std::optional<Bounds> bounds_of(const Node& node) {
  const auto* op = node.as<Activation>();
  if (op == nullptr) return std::nullopt;
  if (op->type == nvinfer1::ActivationType::kRELU)
    return Bounds{0, std::numeric_limits<float>::infinity()};
  if (op->type == nvinfer1::ActivationType::kCLIP) return Bounds{op->alpha, op->beta};
  return std::nullopt;
}

// Quantize does not change the order of numbers, so their bounds may be quantized in their place.
std::optional<ResultBounds> quantized(const Bounds& clip, const Uniform& result, DataType to) {
  const IntegerRange range = integer_range(to);
  if (!(clip.low < clip.high)) return std::nullopt;
  const auto quantize = [&](float x) {
    const float steps = std::nearbyint(x / static_cast<float>(result.scale));
    return std::clamp(static_cast<double>(steps) + result.zero_number,
                      static_cast<double>(range.lowest), static_cast<double>(range.highest));
  };
  const ResultBounds bounds{static_cast<int64_t>(quantize(clip.low)),
                            static_cast<int64_t>(quantize(clip.high))};
  if (bounds.lowest == range.lowest && bounds.highest == range.highest) return ResultBounds();
  if (!bounds.used()) return std::nullopt;
  return bounds;
}

}  // namespace

Ending ending_of(const Uses& uses, Node& layer, bool is_float8) {
  Ending plain{{&layer}, std::nullopt, layer.outputs[0]->type, {}}, ending = plain;
  Node* next = uses.only(*layer.outputs[0]);
  std::optional<Bounds> clip;
  if (next != nullptr && !is_float8 && is_plain(*next) && (clip = bounds_of(*next))) {
    ending.merged.push_back(next);
    next = uses.only(*next->outputs[0]);
  }
  const Quantize* op = next != nullptr ? next->as<Quantize>() : nullptr;
  if (op == nullptr || !is_plain(*next) || next->inputs[0] != ending.merged.back()->outputs[0]
      || !(is_float8 ? op->to == DataType::kFP8 && op->saturate : is_byte(op->to))
      || op->lowest != op->highest)
    return plain;
  ending.result = uniform_of(*next);
  if (!ending.result || (is_float8 && ending.result->zero != nullptr)) return plain;
  if (ending.result->zero != nullptr && ending.result->zero->type != op->to) return plain;
  ending.to = op->to;
  if (clip) {
    const auto bounds = quantized(*clip, *ending.result, op->to);
    if (!bounds) return plain;
    ending.bounds = *bounds;
  }
  ending.merged.push_back(next);
  return ending;
}

}  // namespace tenon
