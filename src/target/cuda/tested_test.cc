// This program tests the CUDA target.
#include "target/cuda/cuda_target.h"
#include "target/testing.h"

namespace tenon {

const Tested& tested() {
  static constexpr DataType kFloats[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16};
  static constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast};
  static const Tested tested{cuda::cuda_target(), kFloats, kLayouts};
  return tested;
}

}  // namespace tenon
