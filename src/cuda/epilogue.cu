#include "cuda/divider.cuh"
#include "cuda/epilogue.cuh"

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
    to[i] = from_float<T>(apply_epilogue<T>(p, to_float(sums[i]), index));
  }
}

// Where operands have the result's shape, elements are numbered alike in all tensors.
template <class Sum, class T>
__global__ void epilogue_alike(EpilogueParameters p, uint32_t count, Divider inner,
                               Divider channels, const Sum* sums, T* to) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  float sum = to_float(sums[i]);
  if (p.bias != nullptr) {
    uint32_t row = inner.quotient(i);
    sum += to_float(static_cast<const T*>(p.bias)[channels.split(row)]);
  }
  int64_t offsets[DeviceProgram::kMaxInputs];
  for (int k = 0; k + 1 < p.program.inputs; ++k) offsets[k] = i;
  to[i] = from_float<T>(run_program<T>(p, sum, offsets));
}

bool are_alike(const EpilogueParameters& p) {
  for (int i = 0; i + 1 < p.program.inputs; ++i) {
    int64_t step = 1;
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      if (p.extents[axis] != 1 && p.operands[i].steps[axis] != step) return false;
      step *= p.extents[axis];
    }
  }
  return true;
}

template <class Sum, class T>
void launch(const EpilogueParameters& p, const void* from, void* to, cudaStream_t stream) {
  const int64_t count = p.count(), blocks = (count + kThreads - 1) / kThreads;
  const Sum* sums = static_cast<const Sum*>(from);
  T* result = static_cast<T*>(to);
  if (count < int64_t{1} << 31 && are_alike(p)) {
    const int64_t plane = p.extents[2] * p.extents[3] * p.extents[4];
    epilogue_alike<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
        p, static_cast<uint32_t>(count), Divider(p.channels_last ? 1 : plane),
        Divider(p.extents[p.channels_last ? 4 : 1]), sums, result);
  } else {
    epilogue<<<static_cast<unsigned>(blocks < 1 << 20 ? blocks : 1 << 20), kThreads, 0, stream>>>(
        p, count, sums, result);
  }
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
