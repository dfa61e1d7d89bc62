#include "optimize/program_builder.h"

#include <algorithm>
#include <bit>

#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"
#include "ops/elementwise.h"
#include "ops/matrix_multiply.h"
#include "ops/pointwise.h"
#include "ops/scale.h"
#include "ops/unary.h"
#include "optimize/match.h"

namespace tenon {
namespace {

using Family = PointwiseStep::Family;
using Operation = nvinfer1::ElementWiseOperation;

// Whether each of its weights is left out or one number.
bool is_uniform(const Node& node, const Scale& op) {
  if (op.mode != nvinfer1::ScaleMode::kUNIFORM) return false;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] != nullptr && !scalar(node.inputs[i])) return false;
  return true;
}

}  // namespace

PointwiseProgram* epilogue_of(Op& op) {
  if (auto* o = dynamic_cast<Convolution*>(&op)) return &o->epilogue;
  if (auto* o = dynamic_cast<Deconvolution*>(&op)) return &o->epilogue;
  if (auto* o = dynamic_cast<MatrixMultiply*>(&op)) return &o->epilogue;
  return nullptr;
}

const PointwiseProgram* epilogue_of(const Op& op) {
  return epilogue_of(const_cast<Op&>(op));
}

bool is_pointwise(const Node& node) {
  if (node.outputs.size() != 1 || !node.outputs[0]->known || !is_plain(node) || is_on_host(node)
      || !is_float_only(node))
    return false;
  if (node.as<Activation>() || node.as<Unary>() || node.as<ElementWise>() || node.as<Pointwise>())
    return true;
  const auto* scale = node.as<Scale>();
  return scale != nullptr && is_uniform(node, *scale);
}

ProgramBuilder::ProgramBuilder(Value& result, const PointwiseProgram& epilogue,
                               std::vector<Value*> operands) {
  inputs_.push_back(&result);
  std::vector<Operand> registers{{Operand::Kind::kInput, 0}};
  for (Value* v : operands) registers.push_back(input(v));
  known_[&result] = epilogue.empty() ? registers[0] : inlined(epilogue, registers);
}

ProgramBuilder::Operand ProgramBuilder::input(Value* value) {
  const auto it = std::find(inputs_.begin(), inputs_.end(), value);
  const auto index = static_cast<size_t>(it - inputs_.begin());
  if (it == inputs_.end()) inputs_.push_back(value);
  return {Operand::Kind::kInput, index};
}

ProgramBuilder::Operand ProgramBuilder::constant(float number) {
  const auto same = [&](float other) {
    return std::bit_cast<uint32_t>(other) == std::bit_cast<uint32_t>(number);
  };
  const auto it = std::find_if(constants_.begin(), constants_.end(), same);
  const auto index = static_cast<size_t>(it - constants_.begin());
  if (it == constants_.end()) constants_.push_back(number);
  return {Operand::Kind::kConstant, index};
}

ProgramBuilder::Operand ProgramBuilder::operand_of(Value* value) {
  if (const auto it = known_.find(value); it != known_.end()) return it->second;
  if (const auto number = scalar(value)) return constant(static_cast<float>(*number));
  return input(value);
}

ProgramBuilder::Operand ProgramBuilder::step(Family family, int32_t function, Operand a, Operand b,
                                             float alpha, float beta) {
  steps_.push_back({{family, function, 0, -1, alpha, beta}, a, b});
  return {Operand::Kind::kStep, steps_.size() - 1};
}

ProgramBuilder::Operand ProgramBuilder::inlined(const PointwiseProgram& program,
                                                const std::vector<Operand>& operands) {
  std::vector<Operand> registers = operands;
  for (float number : program.constants) registers.push_back(constant(number));
  const auto at = [&](int32_t r) { return r < 0 ? Operand{} : registers[static_cast<size_t>(r)]; };
  for (const PointwiseStep& s : program.steps)
    registers.push_back(step(s.family, s.function, at(s.a), at(s.b), s.alpha, s.beta));
  return registers.back();
}

// (x * scale + shift) ^ power, without the parts that are left out.
ProgramBuilder::Operand ProgramBuilder::scaled(const Node& node) {
  Operand x = operand_of(node.inputs[0]);
  const auto then = [&](size_t input, Operation operation) {
    if (input >= node.inputs.size() || node.inputs[input] == nullptr) return;
    const auto number = static_cast<float>(*scalar(node.inputs[input]));
    if (number == (operation == Operation::kSUM ? 0.0f : 1.0f)) return;
    x = step(Family::kElementWise, static_cast<int32_t>(operation), x, constant(number));
  };
  then(2, Operation::kPROD);
  then(1, Operation::kSUM);
  then(3, Operation::kPOW);
  return x;
}

void ProgramBuilder::append(const Node& node) {
  Operand result{};
  if (const auto* op = node.as<Activation>()) {
    result = step(Family::kActivation, static_cast<int32_t>(op->type), operand_of(node.inputs[0]),
                  {}, op->alpha, op->beta);
  } else if (const auto* op = node.as<Unary>()) {
    result = step(Family::kUnary, static_cast<int32_t>(op->operation), operand_of(node.inputs[0]));
  } else if (const auto* op = node.as<ElementWise>()) {
    const Operand a = operand_of(node.inputs[0]), b = operand_of(node.inputs[1]);
    result = step(Family::kElementWise, static_cast<int32_t>(op->operation), a, b);
  } else if (const auto* op = node.as<Pointwise>()) {
    std::vector<Operand> operands;
    for (Value* in : node.inputs) operands.push_back(operand_of(in));
    result = inlined(op->program, operands);
  } else {
    result = scaled(node);
  }
  known_[node.outputs[0]] = result;
}

// Without the zero point, which the Dequantize behind takes off again.
void ProgramBuilder::quantize(const Node& node, const QuantizedBytes& bytes) {
  const IntegerRange range = bytes.bounds.of(bytes.to);
  Operand x = operand_of(node.inputs[0]);
  x = step(Family::kElementWise, static_cast<int32_t>(Operation::kDIV), x, constant(bytes.scale));
  x = step(Family::kActivation, static_cast<int32_t>(nvinfer1::ActivationType::kCLIP), x, {},
           static_cast<float>(range.lowest - bytes.zero),
           static_cast<float>(range.highest - bytes.zero));
  known_[node.outputs[0]] =
      step(Family::kUnary, static_cast<int32_t>(nvinfer1::UnaryOperation::kROUND), x);
}

void ProgramBuilder::dequantize(const Node& node, double scale, double zero) {
  const bool was_rounded = known_.contains(node.inputs[0]);
  Operand x = operand_of(node.inputs[0]);
  if (!was_rounded && zero != 0)
    x = step(Family::kElementWise, static_cast<int32_t>(Operation::kSUB), x,
             constant(static_cast<float>(zero)));
  known_[node.outputs[0]] = step(Family::kElementWise, static_cast<int32_t>(Operation::kPROD), x,
                                 constant(static_cast<float>(scale)));
}

PointwiseProgram ProgramBuilder::program() const {
  PointwiseProgram p;
  p.inputs = static_cast<int32_t>(inputs_.size());
  p.constants = constants_;
  p.steps.resize(steps_.size());
  const auto register_of = [&](Operand o) {
    switch (o.kind) {
      case Operand::Kind::kInput:
        return static_cast<int32_t>(o.index);
      case Operand::Kind::kConstant:
        return p.constant_register(o.index);
      case Operand::Kind::kStep:
        return p.step_register(o.index);
      case Operand::Kind::kNone:
        break;
    }
    return -1;
  };
  for (size_t i = 0; i < steps_.size(); ++i) {
    p.steps[i] = steps_[i].what;
    p.steps[i].a = register_of(steps_[i].a);
    p.steps[i].b = register_of(steps_[i].b);
  }
  return p;
}

}  // namespace tenon
