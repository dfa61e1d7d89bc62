// Turns element-wise layers into the steps of one program.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "network/network.h"
#include "ops/support/pointwise_program.h"
#include "ops/support/quantized_bytes.h"

namespace tenon {

/// The epilogue of a layer that has one (convolution, deconvolution, matrix product); else null.
PointwiseProgram* epilogue_of(Op& op);
const PointwiseProgram* epilogue_of(const Op& op);

/// Whether a program can compute the layer: an element-wise layer of one float type.
bool is_pointwise(const Node& node);

/// Appends layers, inputs first. Tensors that no appended layer makes become inputs of the program,
/// constants with one element its constants.
class ProgramBuilder {
 public:
  ProgramBuilder() = default;
  /// Input 0 is `result`, to which `epilogue` is already applied; `operands` are the epilogue's.
  ProgramBuilder(Value& result, const PointwiseProgram& epilogue, std::vector<Value*> operands);

  /// @pre is_pointwise(node)
  void append(const Node& node);
  /// A Quantize, which rounds and keeps within the bounds, and a Dequantize of bytes. Of what the
  /// first made, the second has the same scale and zero point.
  void quantize(const Node& node, const QuantizedBytes& bytes);
  void dequantize(const Node& node, double scale, double zero);

  /// The program, whose last step is the last one appended.
  PointwiseProgram program() const;
  const std::vector<Value*>& inputs() const { return inputs_; }
  size_t step_count() const { return steps_.size(); }

 private:
  struct Operand {
    enum class Kind : uint8_t { kNone, kInput, kConstant, kStep } kind;
    size_t index;
  };
  struct Step {
    PointwiseStep what;
    Operand a, b;
  };

  Operand input(Value* value);
  Operand constant(float number);
  Operand operand_of(Value* value);
  Operand step(PointwiseStep::Family family, int32_t function, Operand a, Operand b = {},
               float alpha = 0, float beta = 0);
  /// The steps of a program whose inputs are `operands`.
  Operand inlined(const PointwiseProgram& program, const std::vector<Operand>& operands);
  Operand scaled(const Node& node);

  std::vector<Value*> inputs_;
  std::vector<float> constants_;
  std::vector<Step> steps_;
  std::unordered_map<const Value*, Operand> known_;
};

}  // namespace tenon
