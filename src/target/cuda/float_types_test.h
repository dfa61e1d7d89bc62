// What tests of kernels for several floating-point types share.
#pragma once

#include "target/testing.h"

namespace tenon::cuda {

constexpr DataType kFloatTypes[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16};

/// What a result may differ by, of the largest element. float32: sums in another order. 16 bits:
/// four roundings of half a unit, where the reference rounds what kernels keep in float32.
inline double tolerance_of(DataType type) {
  return type == DataType::kFLOAT ? 1e-5 : type == DataType::kHALF ? 4.0 / 2048 : 4.0 / 256;
}

/// The inputs that are floats in that type.
inline std::vector<TestInput> in_type(DataType type, std::vector<TestInput> inputs) {
  if (type != DataType::kFLOAT)
    for (TestInput& in : inputs)
      if (in.tensor && in.tensor->type() == DataType::kFLOAT) in = as_type(type, in);
  return inputs;
}

/// Runs the candidate of that name against the reference, also when loaded from a plan.
inline void expect_as_reference(LayerTest& test, std::string_view candidate, double tolerance) {
  ASSERT_EQ(test.offer(candidate), "");
  const Tensor expected = test.reference();
  expect_close(test.run(), expected, tolerance);
  const StoredKernel stored = test.stored();
  expect_close(test.run(*test.load(stored)), expected, tolerance);
}

}  // namespace tenon::cuda
