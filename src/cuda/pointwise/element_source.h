// CUDA C++ for layers whose result's elements depend on one element of each operand.
#pragma once

#include <string>
#include <vector>

#include "base/dtype.h"
#include "cuda/nvrtc/axes.h"

namespace tenon::cuda {

/// One element of a result. Types are element types of the prelude: "Half".
struct ElementFunction {
  struct Operand {
    size_t input;  // of the layer
    std::string type;
  };
  std::vector<Operand> operands;  // `x0` is the element of input 0
  std::string result_type;
  std::string statements;  // what comes before the result: "const float t0 = expf(x0);"
  std::string result;      // an expression: "t0"
};

/// Elements that a thread computes: as many as 16 bytes hold of the smallest type.
int vector_width(const ElementFunction& function);

/// Kernels `vectors` and `elements`, which take ElementParameters. The first computes
/// vector_width() adjacent elements in a thread, of operands that are adjacent as well, or one
/// element for all. The second computes one element (two of a type that shares a byte) of any
/// operands.
std::string element_source(const ElementFunction& function);

/// A parameter of both kernels; an ElementOperand for the result and each operand follows it.
struct ElementParameters {
  static constexpr int kMaxAxes = 8;
  uint32_t vectors;  // threads that have something to do
  uint32_t rank;     // axes, the outermost first; the innermost counts vectors
  int64_t elements;  // of the result
  AxisParameters axes[kMaxAxes];
};
struct ElementOperand {
  void* data;
  int64_t step;                                 // from one element of a vector to the next
  int64_t stride[ElementParameters::kMaxAxes];  // for a step along each axis
};

}  // namespace tenon::cuda
