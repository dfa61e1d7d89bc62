// What follows a convolution where its own kernel does not do it: bias and element-wise program.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

namespace tenon::cuda {

/// A PointwiseProgram as kernels get it: by value.
struct DeviceProgram {
  static constexpr int kMaxInputs = 8, kMaxConstants = 16, kMaxSteps = 24;
  struct Step {
    int32_t family = 0, function = 0, a = 0, b = -1;
    float alpha = 0, beta = 0;
  };
  int32_t inputs = 1, constants = 0, steps = 0;
  float constant[kMaxConstants] = {};
  Step step[kMaxSteps] = {};
};

/// Batch, channels and three spatial axes, in the order of memory, the outermost first.
constexpr int kAxes = 5;

/// The program over a result whose channels have a bias. Operands broadcast to the result.
struct EpilogueParameters {
  struct Operand {
    const void* data = nullptr;
    int64_t steps[kAxes] = {};  // along the result's axes
  };
  DeviceProgram program;
  int64_t extents[kAxes] = {};                  // of the result
  bool channels_last = false;                   // axis 4 is the channel, else axis 1
  const void* bias = nullptr;                   // null: none
  Operand operands[DeviceProgram::kMaxInputs];  // of the program's register 1 and on, then others

  int64_t count() const {
    int64_t product = 1;
    for (const int64_t extent : extents) product *= extent;
    return product;
  }
};

/// to = program(sums + bias), element by element in float32; `sums` are of type float32 or that of
/// the result, which bias and operands have, and may be the result's memory. Not for empty results.
void launch_epilogue(const EpilogueParameters& p, const void* sums, DataType sums_type, void* to,
                     DataType type, cudaStream_t stream);

}  // namespace tenon::cuda
