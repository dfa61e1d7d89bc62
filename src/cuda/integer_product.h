// Products of matrices of 8-bit integers by tensor cores.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/quantized_epilogue.h"

namespace tenon::cuda {

/// result = requantized(sum over k of (data - data_zero) * (weights - weights_zero) + bias), as the
/// layer QuantizedMatrixMultiply defines it: data (rows, depth), weights (depth, columns), in rows.
struct IntegerProductParameters {
  static constexpr int kMaxAxes = 6;
  using List = QuantizedEpilogue::List;  // columns are output channels
  DataType data_type = DataType::kINT8, weights_type = DataType::kINT8;
  const void *data = nullptr, *weights = nullptr;
  void* result = nullptr;
  int64_t rows = 0, columns = 0, depth = 0;
  /// The batch: extents, and steps of both operands in matrices.
  int axes = 0;
  int64_t extents[kMaxAxes] = {}, data_steps[kMaxAxes] = {}, weights_steps[kMaxAxes] = {};
  int64_t batch = 1;
  List data_zero, weights_zero, bias;  // bytes, bytes, int32; 0
  QuantizedEpilogue epilogue;
};

void launch_integer_product(const IntegerProductParameters& parameters, cudaStream_t stream);

}  // namespace tenon::cuda
