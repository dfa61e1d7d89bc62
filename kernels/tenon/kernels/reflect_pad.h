/// Borders filled with the mirrored inside; the edge is not repeated. As torch.nn.ReflectionPad1d
/// to 3d, and ONNX Pad with mode "reflect".
#pragma once

#include <tenon/plugin/device.h>

#include "tenon/kernels/wide_vectors.h"

namespace tenon::kernels::inline TENON_TARGET {

/// The padding of the last three axes. Pads are 0 or more, and less than the axis is long.
struct ReflectPad {
  int64_t planes;                   ///< the axes before, as one
  int64_t in[3], out[3], first[3];  ///< sizes, and elements before the input

  /// The element of the input, of `size`, that lies `at` from its start; one turn at most.
  TENON_HD static int64_t mirrored(int64_t at, int64_t size) {
    at = at < 0 ? -at : at;
    return at < size ? at : 2 * (size - 1) - at;
  }
  TENON_HD int64_t rows() const { return planes * out[0] * out[1]; }
  /// Where in the input the row of the output begins.
  TENON_HD int64_t source(int64_t row) const { return source(row / out[1], row % out[1]); }
  /// The same, of a row of one of the images of out[1] rows.
  TENON_HD int64_t source(int64_t image, int64_t y) const {
    const int64_t z = image % out[0], plane = image / out[0];
    return ((plane * in[0] + mirrored(z - first[0], in[0])) * in[1] + mirrored(y - first[1], in[1]))
           * in[2];
  }
};

#if defined(__CUDACC__)

/// A row is a warp's.
template <class E> __global__ void reflect_rows(const E* x, E* y, ReflectPad pad) {
  const int64_t warps = int64_t{gridDim.x} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y; row < pad.rows();
       row += warps) {
    const E* const from = x + pad.source(row);
    E* const to = y + row * pad.out[2];
#pragma unroll 4
    for (int64_t i = threadIdx.x; i < pad.out[2]; i += blockDim.x)
      to[i] = from[ReflectPad::mirrored(i - pad.first[2], pad.in[2])];
  }
}

#else

/// Copies `count` elements that overlap nothing. Rows are too short for calls of memcpy.
template <int width, class E>
[[gnu::always_inline]] inline void copy_row(const E* from, int64_t count, E* to) {
  typedef char Bytes __attribute__((vector_size(width * sizeof(float)), aligned(1), may_alias));
  constexpr int64_t kStep = sizeof(Bytes) / sizeof(E);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    *reinterpret_cast<Bytes*>(to + i) = *reinterpret_cast<const Bytes*>(from + i);
  for (; i < count; ++i) to[i] = from[i];
}

#endif

template <class E>
void reflect_pad(const kit::Device& device, const E* x, E* y, const ReflectPad& pad) {
#if defined(__CUDACC__)
  if (pad.rows() == 0 || pad.out[2] == 0) return;
  constexpr int kRows = 8;
  const unsigned blocks = kit::Device::blocks((pad.rows() + kRows - 1) / kRows);
  // clang-format off: it takes launches apart.
  reflect_rows<E><<<blocks, dim3(32, kRows), 0, device.stream>>>(x, y, pad);
  // clang-format on
#else
  constexpr int64_t kGrain = 65536;  // elements
  const int64_t before = pad.first[2], inside = pad.in[2], width = pad.out[2];
  const int64_t after = width - before - inside;
  if (pad.rows() == 0 || width == 0) return;
  device.parallel_ranges(pad.rows(), kGrain / width + 1, [&](int64_t begin, int64_t end) {
    with_wide_vectors([&](auto vector) {
      int64_t image = begin / pad.out[1], line = begin % pad.out[1];
      for (int64_t row = begin; row < end; ++row) {
        const E* from = x + pad.source(image, line);
        E* to = y + row * width;
        for (int64_t i = 0; i < before; ++i) to[i] = from[before - i];
        copy_row<vector()>(from, inside, to + before);
        for (int64_t i = 0; i < after; ++i) to[before + inside + i] = from[inside - 2 - i];
        if (++line == pad.out[1]) {
          line = 0;
          ++image;
        }
      }
    });
  });
#endif
}

}  // namespace tenon::kernels::inline TENON_TARGET
