#include "cuda/pad.h"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 256;

template <class T> __global__ void pad(PadParameters p, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  int64_t rest = i, offset = 0, step = 1;
  bool inside = true;
  for (int axis = PadParameters::kAxes - 1; axis >= 0; --axis) {
    const int64_t at = rest % p.to[axis] - p.pre[axis];
    rest /= p.to[axis];
    inside &= at >= 0 && at < p.from[axis];
    offset += at * step;
    step *= p.from[axis];
  }
  static_cast<T*>(p.out)[i] = inside ? static_cast<const T*>(p.in)[offset] : T{0};
}

}  // namespace

void launch_pad(const PadParameters& p, cudaStream_t stream) {
  int64_t count = 1;
  for (const int64_t extent : p.to) count *= extent;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  if (p.bytes == 2)
    pad<uint16_t><<<blocks, kThreads, 0, stream>>>(p, count);
  else
    pad<uint32_t><<<blocks, kThreads, 0, stream>>>(p, count);
}

}  // namespace tenon::cuda
