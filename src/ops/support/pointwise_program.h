// A chain of element-wise operations as data: what a fused loop, or the epilogue of a convolution,
// computes for each element.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "network/op.h"

namespace tenon {

/// One operation. Registers 0 to inputs-1 are the inputs, then come the constants, then the results
/// of the steps in order. The last step is the output.
struct PointwiseStep {
  enum class Family : int32_t { kUnary, kActivation, kElementWise };
  Family family = Family::kActivation;
  int32_t function = 0;       // a UnaryOperation, ActivationType or ElementWiseOperation
  int32_t a = 0, b = -1;      // operand registers; b only for kElementWise
  float alpha = 0, beta = 0;  // of the activation

  friend bool operator==(const PointwiseStep&, const PointwiseStep&) = default;
};

struct PointwiseProgram {
  int32_t inputs = 1;
  std::vector<float> constants;
  std::vector<PointwiseStep> steps;

  bool empty() const { return steps.empty(); }
  int32_t constant_register(size_t i) const { return inputs + static_cast<int32_t>(i); }
  int32_t step_register(size_t i) const {
    return inputs + static_cast<int32_t>(constants.size() + i);
  }
  /// Saves and loads the program as attributes whose names start with `prefix`.
  void visit(FieldVisitor& v, const std::string& prefix);
  /// Throws unless every register that a step reads was written before it and functions are known.
  void check() const;
  std::string str() const;

  friend bool operator==(const PointwiseProgram&, const PointwiseProgram&) = default;
};

/// The value of one operation of floats; the definition that every kernel follows.
float evaluate(const PointwiseStep& step, float a, float b);
/// The same of float64.
double evaluate_float64(const PointwiseStep& step, double a, double b);

/// Evaluates the program for every element of `output` (float, half or bfloat16). Inputs broadcast
/// as NumPy does, ranks being equal; input 0 may be `output` itself.
void run_reference(const PointwiseProgram& program, std::span<const TensorView> inputs,
                   const TensorView& output);

}  // namespace tenon
