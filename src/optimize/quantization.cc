#include "optimize/quantization.h"

#include "network/reference_run.h"
#include "ops/activation.h"

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

std::unique_ptr<IntegerConvolution> integer_form(const Convolution& convolution) {
  auto integers = std::make_unique<IntegerConvolution>();
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

Ending ending_of(const Uses& uses, Node& layer) {
  Ending plain{{&layer}, std::nullopt, DataType::kFLOAT}, ending = plain;
  Node* next = uses.only(*layer.outputs[0]);
  bool clips = false;
  if (next != nullptr && next->as<Activation>() != nullptr && is_plain(*next)
      && next->as<Activation>()->type == nvinfer1::ActivationType::kRELU) {
    clips = true;
    ending.merged.push_back(next);
    next = uses.only(*next->outputs[0]);
  }
  const Quantize* op = next != nullptr ? next->as<Quantize>() : nullptr;
  if (op == nullptr || !is_plain(*next) || next->inputs[0] != ending.merged.back()->outputs[0]
      || !is_byte(op->to) || op->lowest != op->highest)
    return plain;
  ending.result = uniform_of(*next);
  if (!ending.result) return plain;
  if (ending.result->zero != nullptr && ending.result->zero->type != op->to) return plain;
  const double zero = ending.result->zero_number;
  if (clips && zero != static_cast<double>(integer_range(op->to).lowest)) return plain;
  ending.to = op->to;
  ending.merged.push_back(next);
  return ending;
}

}  // namespace tenon
