// What the tests of products in bfloat16 share: layers whose numbers bfloat16 holds, so that
// rounding them changes nothing, and results are the reference's.
#pragma once

#include "common/convolution_testing.h"

namespace tenon::cpu {

constexpr const char* kNoBfloat = "no AVX512_BF16";

inline Tensor rounded_to_bfloat(Tensor t) {
  for (int64_t i = 0; i < t.count(); ++i) {
    float& x = t.mutable_data<float>()[i];
    x = static_cast<float>(BFloat16(x));
  }
  return t;
}

/// A layer that may be multiplied in bfloat16.
inline LayerTest bfloat_layer(const Op& op, std::vector<TestInput> inputs) {
  for (TestInput& in : inputs)
    if (in.tensor) in.tensor = rounded_to_bfloat(*in.tensor);
  LayerTest test(op, std::move(inputs));
  test.allow_bf16();
  return test;
}

}  // namespace tenon::cpu
