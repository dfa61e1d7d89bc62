// This program tests the CUDA target.
#include "backend/testing.h"
#include "cuda/cuda_target.h"

namespace tenon {

const Tested& tested() {
  static constexpr DataType kFloats[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16};
  static constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast};
  static const Tested tested{cuda::cuda_target(), kFloats, kLayouts};
  return tested;
}

}  // namespace tenon
