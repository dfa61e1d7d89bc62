// Element-wise layers between the products of integers, or of fp8, and a Quantize, as SiLU is,
// become the epilogue of the product, so that no float leaves the cache. Of a convolution's they
// may read another tensor, which is dequantized: the sum around a block of a residual network,
// behind an activation.
#include "ops/quantized_convolution.h"
#include "ops/quantized_matrix_multiply.h"
#include "optimize/passes.h"
#include "optimize/program_builder.h"
#include "optimize/quantization.h"

namespace tenon {
namespace {

using In = QuantizedInputs;

// The program and then a division by the scale, as Quantize does it.
PointwiseProgram quantized(PointwiseProgram program, double scale) {
  const int32_t result = program.step_register(program.steps.size() - 1);
  const int32_t constant = program.constant_register(program.constants.size());
  const auto moved = [&](int32_t r) { return r >= constant ? r + 1 : r; };
  for (PointwiseStep& step : program.steps) {
    step.a = moved(step.a);
    step.b = moved(step.b);
  }
  program.constants.push_back(static_cast<float>(scale));
  program.steps.push_back({PointwiseStep::Family::kElementWise,
                           static_cast<int32_t>(nvinfer1::ElementWiseOperation::kDIV),
                           moved(result), constant});
  return program;
}

struct Epilogue {
  PointwiseProgram program;
  Value* bytes = nullptr;  // of the operand, if there is one
  EpilogueOperand operand;
};

// What the only layer that reads a product makes of it, if it is element-wise; it may read a
// Dequantize, too.
std::optional<Epilogue> epilogue_for(Node& product, Node& node) {
  Value& numbers = *product.outputs[0];
  if (!is_pointwise(node) || !is_plain(node) || node.outputs[0]->dims != numbers.dims)
    return std::nullopt;
  ProgramBuilder builder(numbers, {}, {});
  builder.append(node);
  if (builder.step_count() == 0 || builder.inputs().size() > 2) return std::nullopt;
  Epilogue made{builder.program(), nullptr, {}};
  if (builder.inputs().size() == 1) return made;
  const auto dequantized = dequantized_bytes(builder.inputs()[1]);
  if (!dequantized || dequantized->node->outputs[0]->dims != numbers.dims) return std::nullopt;
  made.bytes = dequantized->node->inputs[0];
  made.operand = {static_cast<float>(dequantized->scale.scale),
                  static_cast<int32_t>(dequantized->scale.zero_number)};
  return made;
}

// Several matrices of weights, which targets have no kernel with an epilogue for.
template <class Kind> bool is_stack(const Node& product) {
  if constexpr (!std::is_same_v<Kind, QuantizedMatrixMultiply>) return false;
  const auto& extents = product.inputs[In::kWeights]->dims;
  for (size_t axis = 0; axis + 2 < extents.size(); ++axis)
    if (!extents[axis]->is_constant() || extents[axis]->value.integer != 1) return true;
  return false;
}

template <class Kind>
bool rewrite(Patch& patch, const Target& target, const Uses& uses, Node& product) {
  const Kind* op = product.as<Kind>();
  if (op == nullptr || !(op->to == DataType::kFLOAT || is_16bit_float(op->to))
      || !op->epilogue.empty() || !is_plain(product) || is_stack<Kind>(product))
    return false;
  Node* layer = uses.only(*product.outputs[0]);
  auto epilogue = layer != nullptr ? epilogue_for(product, *layer) : std::nullopt;
  if (!epilogue) return false;
  const Ending ending = ending_of(uses, *layer, op->is_float8);
  if (!ending.result || ending.merged.size() != 2) return false;
  auto made = std::make_unique<Kind>(*op);
  made->to = ending.to;
  made->epilogue = quantized(std::move(epilogue->program), ending.result->scale);
  std::vector<Value*> inputs(product.inputs);
  inputs.resize(In::kCount, nullptr);
  inputs[In::kResultZero] = ending.result->zero;
  if constexpr (std::is_same_v<Kind, QuantizedConvolution>) {
    made->operand = epilogue->operand;
    if (epilogue->bytes != nullptr && op->is_float8) return false;
    if (epilogue->bytes != nullptr) inputs.push_back(epilogue->bytes);
  } else if (epilogue->bytes != nullptr) {
    return false;
  }
  if (!target.fuses(*made, made->epilogue)) return false;
  while (inputs.back() == nullptr) inputs.pop_back();
  patch.fuse(std::move(made), std::move(inputs), {&product, layer, ending.merged.back()});
  return true;
}

}  // namespace

std::optional<Patch> quantized_epilogues(const Network& network, const Target& target) {
  const Uses uses(network);
  Patch patch;
  for (const auto& node : network.nodes())
    if (!rewrite<QuantizedConvolution>(patch, target, uses, *node))
      rewrite<QuantizedMatrixMultiply>(patch, target, uses, *node);
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace tenon
