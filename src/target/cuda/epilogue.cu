#include "target/cuda/epilogue.cuh"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 256;

template <class Sum, class T>
__global__ void epilogue(EpilogueParameters p, int64_t count, const Sum* sums, T* to) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    int64_t index[kAxes], rest = i;
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      index[axis] = rest % p.extents[axis];
      rest /= p.extents[axis];
    }
    to[i] = from_float<T>(finish<T>(p, to_float(sums[i]), index));
  }
}

template <class Sum, class T>
void launch(const EpilogueParameters& p, const void* sums, void* to, cudaStream_t stream) {
  const int64_t count = p.count(), blocks = (count + kThreads - 1) / kThreads;
  epilogue<<<static_cast<unsigned>(blocks < 1 << 20 ? blocks : 1 << 20), kThreads, 0, stream>>>(
      p, count, static_cast<const Sum*>(sums), static_cast<T*>(to));
}

}  // namespace

void launch_epilogue(const EpilogueParameters& p, const void* sums, DataType sums_type, void* to,
                     DataType type, cudaStream_t stream) {
  with_device_float(type, [&](auto zero) {
    using T = decltype(zero);
    if (sums_type == type)
      launch<T, T>(p, sums, to, stream);
    else
      launch<float, T>(p, sums, to, stream);
  });
}

}  // namespace tenon::cuda
