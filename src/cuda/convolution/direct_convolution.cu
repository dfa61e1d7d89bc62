#include "cuda/convolution/direct_convolution.h"
#include "cuda/epilogue.cuh"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 128;

/// The element that tap `k` of an output at `o` reads along an axis; -1 for none.
__device__ int64_t source(const DirectConvolution& p, int axis, int64_t o, int64_t k) {
  int64_t at = k * p.axes.dilation[axis] - p.axes.pre[axis];
  if (p.transposed) {
    at = o - at;
    if (at < 0 || at % p.axes.stride[axis] != 0) return -1;
    at /= p.axes.stride[axis];
  } else {
    at += o * p.axes.stride[axis];
  }
  return at < p.axes.in[axis] ? at : -1;
}

// A thread computes an element, and neighbours in memory are those of neighbouring threads.
template <class T> __global__ void convolve(DirectConvolution p, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  int64_t index[kAxes], rest = i;
  for (int axis = kAxes - 1; axis >= 0; --axis) {
    index[axis] = rest % p.epilogue.extents[axis];
    rest /= p.epilogue.extents[axis];
  }
  const bool last = p.epilogue.channels_last;
  const int64_t output_channel = index[last ? 4 : 1], group = output_channel / p.output_channels;
  const int64_t* at = index + (last ? 1 : 2);
  const T* data = static_cast<const T*>(p.data) + index[0] * p.data_steps[0]
                  + group * p.depth * p.data_steps[1];
  const T* weights = static_cast<const T*>(p.weights) + group * p.group_step
                     + output_channel % p.output_channels * p.channel_step;
  float sum = 0;
  for (int64_t kz = 0; kz < p.axes.kernel[0]; ++kz) {
    const int64_t z = source(p, 0, at[0], kz);
    if (z < 0) continue;
    for (int64_t ky = 0; ky < p.axes.kernel[1]; ++ky) {
      const int64_t y = source(p, 1, at[1], ky);
      if (y < 0) continue;
      for (int64_t kx = 0; kx < p.axes.kernel[2]; ++kx) {
        const int64_t x = source(p, 2, at[2], kx);
        if (x < 0) continue;
        const T* from = data + z * p.data_steps[2] + y * p.data_steps[3] + x * p.data_steps[4];
        const T* weight =
            weights + ((kz * p.axes.kernel[1] + ky) * p.axes.kernel[2] + kx) * p.tap_step;
        for (int64_t d = 0; d < p.depth; ++d)
          sum += to_float(from[d * p.data_steps[1]]) * to_float(weight[d * p.depth_step]);
      }
    }
  }
  static_cast<T*>(p.result)[i] = from_float<T>(apply_epilogue<T>(p.epilogue, sum, index));
}

}  // namespace

void launch_direct_convolution(const DirectConvolution& p, cudaStream_t stream) {
  const int64_t count = p.epilogue.count();
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  with_device_float(p.type, [&](auto zero) {
    convolve<decltype(zero)><<<blocks, kThreads, 0, stream>>>(p, count);
  });
}

}  // namespace tenon::cuda
