#include "cuda/convolution/integer_convolution.h"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 128;
using Parameters = IntegerConvolutionParameters;

// A thread makes an element; neighbours along a row share the weights.
template <class Data, class Weight> __global__ void convolve(Parameters p, int64_t count) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count) return;
  int64_t rest = at, position[3];
  for (int axis = 2; axis >= 0; --axis) {
    position[axis] = rest % p.axes.out[axis];
    rest /= p.axes.out[axis];
  }
  const int64_t all_output_channels = p.output_channels * p.groups,
                output_channel = rest % all_output_channels, image = rest / all_output_channels;
  const int64_t plane = p.axes.in[0] * p.axes.in[1] * p.axes.in[2];
  const int64_t first = output_channel / p.output_channels * p.depth;
  const Data* data =
      static_cast<const Data*>(p.data) + (image * p.depth * p.groups + first) * plane;
  const int64_t taps = p.axes.kernel[0] * p.axes.kernel[1] * p.axes.kernel[2];
  const Weight* weights = static_cast<const Weight*>(p.weights) + output_channel * p.depth * taps;
  const auto zero = [&](const Parameters::List& list, bool is_signed) {
    return list.data == nullptr ? 0 : byte_at(list.data, is_signed, output_channel * list.step);
  };
  const int32_t data_zero = zero(p.data_zero, p.data_is_signed);
  const int32_t weights_zero = zero(p.weights_zero, p.weights_are_signed);
  uint32_t sum = 0;  // which wraps
  if (p.bias.data != nullptr)
    sum = static_cast<const uint32_t*>(p.bias.data)[output_channel * p.bias.step];
  for (int64_t kz = 0; kz < p.axes.kernel[0]; ++kz) {
    const int64_t z = position[0] * p.axes.stride[0] + kz * p.axes.dilation[0] - p.axes.pre[0];
    if (z < 0 || z >= p.axes.in[0]) continue;
    for (int64_t ky = 0; ky < p.axes.kernel[1]; ++ky) {
      const int64_t y = position[1] * p.axes.stride[1] + ky * p.axes.dilation[1] - p.axes.pre[1];
      if (y < 0 || y >= p.axes.in[1]) continue;
      for (int64_t kx = 0; kx < p.axes.kernel[2]; ++kx) {
        const int64_t x = position[2] * p.axes.stride[2] + kx * p.axes.dilation[2] - p.axes.pre[2];
        if (x < 0 || x >= p.axes.in[2]) continue;
        const Data* from = data + (z * p.axes.in[1] + y) * p.axes.in[2] + x;
        const Weight* weight = weights + (kz * p.axes.kernel[1] + ky) * p.axes.kernel[2] + kx;
        for (int64_t d = 0; d < p.depth; ++d)
          sum += static_cast<uint32_t>((int32_t{from[d * plane]} - data_zero)
                                       * (int32_t{weight[d * taps]} - weights_zero));
      }
    }
  }
  store_result(p.epilogue, static_cast<int32_t>(sum), output_channel, p.result, at);
}

template <class Data, class Weight> void launch(const Parameters& p, cudaStream_t stream) {
  const int64_t count =
      p.images * p.groups * p.output_channels * p.axes.out[0] * p.axes.out[1] * p.axes.out[2];
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  convolve<Data, Weight><<<blocks, kThreads, 0, stream>>>(p, count);
}

}  // namespace

void launch_integer_convolution(const Parameters& p, cudaStream_t stream) {
  if (p.data_is_signed && p.weights_are_signed)
    launch<int8_t, int8_t>(p, stream);
  else if (p.data_is_signed)
    launch<int8_t, uint8_t>(p, stream);
  else if (p.weights_are_signed)
    launch<uint8_t, int8_t>(p, stream);
  else
    launch<uint8_t, uint8_t>(p, stream);
}

}  // namespace tenon::cuda
