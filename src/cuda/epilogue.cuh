// Element-wise programs inside kernels, read step by step.
#pragma once

#include <NvInfer.h>

#include "cuda/elements.cuh"
#include "cuda/epilogue.h"
#include "ops/support/private_operation.h"

namespace tenon::cuda {

// Operations are defined by evaluate() in ops/pointwise_program.cc; these follow it.
__device__ inline float unary(nvinfer1::UnaryOperation function, float x) {
  using F = nvinfer1::UnaryOperation;
  switch (function) {
    case F::kEXP:
      return expf(x);
    case F::kLOG:
      return logf(x);
    case F::kSQRT:
      return sqrtf(x);
    case F::kRECIP:
      return 1 / x;
    case F::kABS:
      return fabsf(x);
    case F::kNEG:
      return -x;
    case F::kSIN:
      return sinf(x);
    case F::kCOS:
      return cosf(x);
    case F::kTAN:
      return tanf(x);
    case F::kSINH:
      return sinhf(x);
    case F::kCOSH:
      return coshf(x);
    case F::kASIN:
      return asinf(x);
    case F::kACOS:
      return acosf(x);
    case F::kATAN:
      return atanf(x);
    case F::kASINH:
      return asinhf(x);
    case F::kACOSH:
      return acoshf(x);
    case F::kATANH:
      return atanhf(x);
    case F::kCEIL:
      return ceilf(x);
    case F::kFLOOR:
      return floorf(x);
    case F::kERF:
      return erff(x);
    case F::kNOT:
      return x == 0;
    case F::kSIGN:
      return isnan(x) ? x : static_cast<float>((x > 0) - (x < 0));
    case F::kROUND:
      return rintf(x);  // ties to even
    case F::kISINF:
      return isinf(x) != 0;
    case F::kISNAN:
      return isnan(x) != 0;
  }
  return x;
}

__device__ inline float activation(nvinfer1::ActivationType function, float x, float alpha,
                                   float beta) {
  using F = nvinfer1::ActivationType;
  switch (function) {
    case F::kRELU:
      return x < 0 ? 0 : x;
    case F::kSIGMOID:
      return 1 / (1 + expf(-x));
    case F::kTANH:
      return tanhf(x);
    case F::kLEAKY_RELU:
      return x < 0 ? alpha * x : x;
    case F::kELU:
      return x < 0 ? alpha * expm1f(x) : x;
    case F::kSELU:
      return x > 0 ? beta * x : beta * alpha * expm1f(x);
    case F::kSOFTSIGN:
      return x / (1 + fabsf(x));
    case F::kSOFTPLUS: {
      const float y = beta * x;
      return alpha * ((y > 0 ? y : 0) + log1pf(expf(-fabsf(y))));
    }
    case F::kCLIP: {
      const float y = x > beta ? beta : x;
      return y < alpha ? alpha : y;
    }
    case F::kHARD_SIGMOID: {
      const float y = alpha * x + beta;
      return y < 0 ? 0 : y > 1 ? 1 : y;
    }
    case F::kSCALED_TANH:
      return alpha * tanhf(beta * x);
    case F::kTHRESHOLDED_RELU:
      return x <= alpha ? 0 : x;
    case F::kGELU_ERF:
      return 0.5f * x * (1 + erff(x * 0.70710678f));
    case F::kGELU_TANH:
      return 0.5f * x * (1 + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
  }
  return x;
}

__device__ inline float element_wise(nvinfer1::ElementWiseOperation function, float a, float b) {
  using F = nvinfer1::ElementWiseOperation;
  if (function == operation_of(PrivateOperation::kRemainder)) return fmodf(a, b);
  switch (function) {
    case F::kSUM:
      return a + b;
    case F::kPROD:
      return a * b;
    case F::kMAX:
      return a > b || isnan(a) ? a : b;
    case F::kMIN:
      return a < b || isnan(a) ? a : b;
    case F::kSUB:
      return a - b;
    case F::kDIV:
      return a / b;
    case F::kPOW:
      return powf(a, b);
    case F::kFLOOR_DIV:
      return floorf(a / b);
    case F::kAND:
      return a != 0 && b != 0;
    case F::kOR:
      return a != 0 || b != 0;
    case F::kXOR:
      return (a != 0) != (b != 0);
    case F::kEQUAL:
      return a == b;
    case F::kGREATER:
      return a > b;
    case F::kLESS:
      return a < b;
  }
  return a;
}

/// The program's value for one element; `x` is register 0, `offsets[i]` where register i + 1 is.
template <class T>
__device__ float run_program(const EpilogueParameters& p, float x, const int64_t* offsets) {
  const DeviceProgram& program = p.program;
  if (program.steps == 0) return x;
  float registers[DeviceProgram::kMaxInputs + DeviceProgram::kMaxConstants
                  + DeviceProgram::kMaxSteps];
  registers[0] = x;
  int next = program.inputs;
  for (int i = 1; i < program.inputs; ++i)
    registers[i] = to_float(static_cast<const T*>(p.operands[i - 1].data)[offsets[i - 1]]);
  for (int i = 0; i < program.constants; ++i) registers[next++] = program.constant[i];
  for (int i = 0; i < program.steps; ++i) {
    const DeviceProgram::Step& s = program.step[i];
    const float a = i > 0 && s.a == next - 1 ? x : registers[s.a];  // mostly a chain
    x = s.family == 0 ? unary(static_cast<nvinfer1::UnaryOperation>(s.function), a)
        : s.family == 1
            ? activation(static_cast<nvinfer1::ActivationType>(s.function), a, s.alpha, s.beta)
            : element_wise(static_cast<nvinfer1::ElementWiseOperation>(s.function), a,
                           registers[s.b]);
    registers[next++] = x;
  }
  return x;
}

/// Adds the bias and runs the program for the result's element at `index`, one per axis.
template <class T>
__device__ float apply_epilogue(const EpilogueParameters& p, float sum,
                                const int64_t (&index)[kAxes]) {
  if (p.bias != nullptr)
    sum += to_float(static_cast<const T*>(p.bias)[index[p.channels_last ? kAxes - 1 : 1]]);
  int64_t offsets[DeviceProgram::kMaxInputs] = {};
  for (int i = 0; i + 1 < p.program.inputs; ++i)
    for (int axis = 0; axis < kAxes; ++axis) offsets[i] += index[axis] * p.operands[i].steps[axis];
  return run_program<T>(p, sum, offsets);
}

}  // namespace tenon::cuda
