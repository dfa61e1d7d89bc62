#include <algorithm>

#include "cuda/bias_activation.h"
#include "cuda/elements.cuh"

namespace tenon::cuda {
namespace {

__device__ float activated(EpilogueActivation activation, float x) {
  switch (activation) {
    case EpilogueActivation::kRelu:
      return x < 0 ? 0.f : x;
    case EpilogueActivation::kGeluErf:
      return .5f * x * (1 + erff(x * .70710678118654752f));
    case EpilogueActivation::kGeluTanh:
      return .5f * x * (1 + tanhf(.79788456080286536f * (x + .044715f * x * x * x)));
    case EpilogueActivation::kNone:
      break;
  }
  return x;
}

template <class T> __global__ void add_bias_and_activate(BiasActivation p) {
  T* data = static_cast<T*>(p.data);
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < p.count;
       i += int64_t{gridDim.x} * blockDim.x) {
    float x = to_float(data[i]);
    int64_t rest = i, offsets[BiasActivation::kTerms] = {};
    for (int axis = p.axes - 1; axis >= 0; --axis) {
      const int64_t at = rest % p.extents[axis];
      rest /= p.extents[axis];
      for (int t = 0; t < BiasActivation::kTerms; ++t) offsets[t] += at * p.terms[t].steps[axis];
    }
    for (int t = 0; t < BiasActivation::kTerms; ++t)
      if (p.terms[t].data != nullptr)
        x += to_float(static_cast<const T*>(p.terms[t].data)[offsets[t]]);
    data[i] = from_float<T>(activated(p.activation, x));
  }
}

}  // namespace

void launch_bias_activation(const BiasActivation& p, cudaStream_t stream) {
  if (p.count == 0) return;
  constexpr int kThreads = 256;
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>((p.count + kThreads - 1) / kThreads, 1 << 16));
  with_device_float(p.type, [&](auto zero) {
    add_bias_and_activate<decltype(zero)><<<blocks, kThreads, 0, stream>>>(p);
  });
}

}  // namespace tenon::cuda
