// What follows a product of matrices when the product itself cannot do it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"

namespace tenon::cuda {

enum class EpilogueActivation : int32_t { kNone, kRelu, kGeluErf, kGeluTanh };

/// data = activation(data + terms), in float32, element by element. Terms broadcast to the data.
struct BiasActivation {
  static constexpr int kMaxAxes = 8, kTerms = 2;
  struct Term {
    const void* data = nullptr;  // null: none
    int64_t steps[kMaxAxes] = {};
  };
  DataType type = DataType::kFLOAT;
  void* data = nullptr;
  int64_t count = 0;
  int axes = 0;
  int64_t extents[kMaxAxes] = {};
  Term terms[kTerms];
  EpilogueActivation activation = EpilogueActivation::kNone;
};

void launch_bias_activation(const BiasActivation& parameters, cudaStream_t stream);

}  // namespace tenon::cuda
