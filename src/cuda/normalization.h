// Normalisation by mean and variance, all in float32.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/byte_quantization.h"

namespace tenon::cuda {

struct NormalizationTask {
  static constexpr int kMaxAxes = 9;  // a shape's, and one more for groups
  /// The offsets of a parameter along some axes: element i has offset i / run % period * step.
  struct ParameterOffsets {
    int64_t run = 1, period = 1, step = 0;
  };
  /// Scale or bias; its type may differ from the data's.
  struct Parameter {
    const void* data = nullptr;  // null: 1 or 0
    DataType type = DataType::kFLOAT;
    ParameterOffsets rows, elements;  // where the data is in rows
    int64_t steps[kMaxAxes] = {};     // else: along kept, then along reduced axes
  };
  DataType type = DataType::kFLOAT;
  const void* data = nullptr;
  const void* addend = nullptr;  // as the data, and added to it; null: none
  void* result = nullptr;
  /// The result again as bytes; null: not wanted.
  struct Bytes {
    uint8_t* data = nullptr;
    ByteQuantization rule;
  };
  Bytes bytes;
  float *mean = nullptr, *inverse_deviation = nullptr;  // one for each row; null: not wanted
  float epsilon = 0;
  bool subtracts_mean = true;
  Parameter scale, bias;
  int64_t rows = 1, length = 1;  // means, and elements that share one
  /// Whether the elements that share a mean follow each other in memory.
  bool in_rows = true;
  /// Otherwise: the extents of the axes that are kept, then of those reduced, and the data's steps.
  int kept = 0, axes = 0;
  int64_t extents[kMaxAxes] = {}, steps[kMaxAxes] = {};
};

void launch_normalization(const NormalizationTask& task, cudaStream_t stream);

}  // namespace tenon::cuda
