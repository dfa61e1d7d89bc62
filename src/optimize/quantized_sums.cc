// Sums of two dequantised tensors, quantised again, become part of a convolution of integers that
// makes one of the two: the connections around the blocks of residual networks.
#include <algorithm>

#include "ops/elementwise.h"
#include "ops/quantized_convolution.h"
#include "optimize/passes.h"
#include "optimize/quantization.h"

namespace tenon {
namespace {

using In = QuantizedInputs;

// A zero point left out is 0.
bool is_known_as(const Value* zero, double number) {
  if (zero == nullptr) return number == 0;
  if (!zero->constant) return false;
  const auto numbers = zero->constant->numbers();
  return std::all_of(numbers.begin(), numbers.end(), [&](double n) { return n == number; });
}

// The convolution whose result is dequantised, if it can go on to add and nobody else needs that.
Node* convolution_of(const Uses& uses, const Dequantized& product) {
  const Value& result = *product.node->inputs[0];
  Node* node = result.producer;
  const auto* op = node != nullptr ? node->as<QuantizedConvolution>() : nullptr;
  if (op == nullptr || op->sum.used || !op->epilogue.empty() || !is_plain(*node)
      || uses.only(result) != product.node || uses.only(*product.node->outputs[0]) == nullptr)
    return nullptr;
  const auto input = [&](size_t i) { return i < node->inputs.size() ? node->inputs[i] : nullptr; };
  const Value& weights = *input(In::kWeights);
  const bool fits = weights.constant && weights.type == DataType::kINT8
                    && is_known_as(input(In::kWeightsZero), 0)
                    && is_known_as(input(In::kResultZero), product.scale.zero_number);
  return fits ? node : nullptr;
}

bool rewrite(Patch& patch, const Target& target, const Uses& uses, Node& sum,
             const Dequantized& product, const Dequantized& addend) {
  Node* convolution = convolution_of(uses, product);
  if (convolution == nullptr || patch.removes(*convolution) || addend.node == product.node
      || addend.node->inputs[0]->dims != convolution->outputs[0]->dims)
    return false;
  Ending ending = ending_of(uses, sum);
  if (!ending.result) return false;
  auto op = std::make_unique<QuantizedConvolution>(*convolution->as<QuantizedConvolution>());
  op->sum.used = true;
  op->sum.product_scale = static_cast<float>(product.scale.scale);
  op->sum.addend_scale = static_cast<float>(addend.scale.scale);
  op->sum.scale = static_cast<float>(ending.result->scale);
  op->sum.addend_zero = static_cast<int32_t>(addend.scale.zero_number);
  op->sum.zero = static_cast<int32_t>(ending.result->zero_number);
  op->sum.to = ending.to;
  op->sum.bounds = ending.bounds;
  if (!target.fuses(*op, {})) return false;
  std::vector<Value*> inputs(convolution->inputs);
  inputs.resize(QuantizedConvolution::kAddend);
  inputs.push_back(addend.node->inputs[0]);
  ending.merged.insert(ending.merged.begin(), {convolution, product.node});
  patch.fuse(std::move(op), std::move(inputs), ending.merged);
  return true;
}

}  // namespace

std::optional<Patch> quantized_sums(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes()) {
    const auto* op = node->as<ElementWise>();
    if (op == nullptr || op->operation != nvinfer1::ElementWiseOperation::kSUM || !is_plain(*node))
      continue;
    const auto a = dequantized_bytes(node->inputs[0]), b = dequantized_bytes(node->inputs[1]);
    if (a && b && !rewrite(patch, target, uses, *node, *a, *b))
      rewrite(patch, target, uses, *node, *b, *a);
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
