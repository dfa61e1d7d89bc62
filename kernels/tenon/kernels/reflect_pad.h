/// Borders filled with the mirrored inside; the edge is not repeated. As torch.nn.ReflectionPad1d
/// to 3d, and ONNX Pad with mode "reflect".
#pragma once

#include <tenon/plugin/device.h>

#include "tenon/kernels/pack.h"
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
  /// Where in the input a row of the output begins, of one of the images of out[1] rows. `Index`
  /// counts them.
  template <class Index> TENON_HD int64_t source(Index image, Index y) const {
    const auto depth = static_cast<Index>(out[0]);
    const Index before = depth == 1 ? image : image / depth;
    const auto plane = static_cast<int64_t>(before),
               z = static_cast<int64_t>(image - before * depth);
    return ((plane * in[0] + mirrored(z - first[0], in[0])) * in[1]
            + mirrored(static_cast<int64_t>(y) - first[1], in[1]))
           * in[2];
  }
};

#if defined(__CUDACC__)

/// Packs in some neighbouring rows of the result are a thread's. `Index` counts packs;
/// `reads_packs` says whether those that lie in the input are packs there, too.
template <class E, int count, class Index>
__global__ void __launch_bounds__(256)
    reflect_packs(const E* x, E* y, ReflectPad pad, Index packs, bool reads_packs) {
  constexpr int kRows = 4;
  const auto width = static_cast<Index>(pad.out[2] / count);
  const auto height = static_cast<Index>(pad.out[1]), rows = packs / width;
  const Index thread = Index{blockIdx.x} * blockDim.x + threadIdx.x, band = thread / width;
  const Index column = thread - band * width;
  const int64_t at = static_cast<int64_t>(column) * count - pad.first[2];
  Index row = band * kRows, image = row / height, line = row - image * height;
  E* to = y + (static_cast<int64_t>(row) * width + column) * count;
#pragma unroll
  for (int r = 0; r < kRows; ++r, ++row, to += pad.out[2]) {
    if (row >= rows) return;
    const E* const from = x + pad.source(image, line);
    Pack<E, count> pack;
    if (reads_packs && at >= 0 && at + count <= pad.in[2]) {
      pack = Pack<E, count>::load(from + at);
    } else {
#pragma unroll
      for (int k = 0; k < count; ++k)
        pack.values[k] = from[ReflectPad::mirrored(at + k, pad.in[2])];
    }
    pack.store(to);
    if (++line == height) {
      line = 0;
      ++image;
    }
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
  const auto launch = [&](auto count) {
    constexpr int kCount = decltype(count)::value;
    const bool reads_packs = Pack<E, kCount>::divides(x, pad.in[2]) && pad.first[2] % kCount == 0;
    const int64_t packs = pad.rows() * (pad.out[2] / kCount);
    const int64_t threads = (pad.rows() + 3) / 4 * (pad.out[2] / kCount);
    const auto blocks = static_cast<unsigned>((threads + 255) / 256);
    // clang-format off: it takes launches apart.
    if (packs <= INT32_MAX)
      reflect_packs<E, kCount, uint32_t><<<blocks, 256, 0, device.stream>>>(x, y, pad, static_cast<uint32_t>(packs), reads_packs);
    else
      reflect_packs<E, kCount, uint64_t><<<blocks, 256, 0, device.stream>>>(x, y, pad, static_cast<uint64_t>(packs), reads_packs);
    // clang-format on
  };
  if (Pack<E>::divides(y, pad.out[2]))
    launch(std::integral_constant<int, Pack<E>::kCount>());
  else
    launch(std::integral_constant<int, 1>());
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
