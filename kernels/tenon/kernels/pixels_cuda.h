/// Images whose channels lie side by side, on CUDA: made from planes. Threads that are neighbours
/// then read neighbouring channels, 16 bytes each, wherever the pixel lies.
#pragma once

#if defined(__CUDACC__)

#include <tenon/plugin/device.h>

#include <type_traits>

#include "tenon/kernels/pack.h"

namespace tenon::kernels::inline TENON_TARGET {

/// The order of elements: images, their pixels, parts of the channels, channels of a part.
struct PixelLayout {
  int64_t images, parts, channels, pixels;  // channels of a part
  int64_t part_step;                        // from part to part: whole packs

  /// Parts begin at multiples of `multiple`, which whole packs are.
  template <class E, int64_t multiple = Pack<E>::kCount>
  static PixelLayout of(int64_t images, int64_t parts, int64_t channels, int64_t pixels) {
    static_assert(multiple % Pack<E>::kCount == 0);
    return {images, parts, channels, pixels, (channels + multiple - 1) / multiple * multiple};
  }
  TENON_HD int64_t pixel_step() const { return parts * part_step; }
  TENON_HD int64_t image_step() const { return pixels * pixel_step(); }
  int64_t elements() const { return images * image_step(); }
};

/// A block has a tile of channels and pixels, which passes through shared memory in words of 32
/// bits: one or two channels of a pixel. Channels that only fill the last pack are 0.
template <class E>
__global__ void __launch_bounds__(256)
    make_pixels(const E* planes, PixelLayout layout, bool has_packs, E* to) {
  using Bits = std::conditional_t<sizeof(E) == 2, uint16_t, uint32_t>;
  using Words = Pack<uint32_t>;
  constexpr int kTile = 64, kPack = Pack<Bits>::kCount;    // pixels, and channels
  constexpr int kTogether = 4 / sizeof(E);                 // channels of a word
  constexpr int kPacks = kTile / kPack, kThreads = 256;    // packs of a row
  __shared__ uint32_t tile[kTile / kTogether][kTile + 1];  // lanes use different banks
  const int row = static_cast<int>(threadIdx.x) / kPacks;
  const int pack = static_cast<int>(threadIdx.x) % kPacks;
  const int64_t pixel = int64_t{blockIdx.x} * kTile;
  const auto move = [&](int64_t part, int64_t channel) {
#pragma unroll
    for (int word = row; word < kTile / kTogether; word += kThreads / kPacks) {
      Pack<Bits> values[kTogether]{};
#pragma unroll
      for (int c = 0; c < kTogether; ++c) {
        const int64_t at = channel + word * kTogether + c, first = pixel + pack * kPack;
        const auto* from = reinterpret_cast<const Bits*>(planes)
                           + (part * layout.channels + at) * layout.pixels + first;
        if (at >= layout.channels || first >= layout.pixels) continue;
        if (has_packs) {
          values[c] = Pack<Bits>::load(from);
        } else {
#pragma unroll
          for (int p = 0; p < kPack; ++p)
            if (first + p < layout.pixels) values[c].values[p] = from[p];
        }
      }
#pragma unroll
      for (int p = 0; p < kPack; ++p)
        tile[word][pack * kPack + p] =
            kTogether == 1 ? uint32_t{values[0].values[p]}
                           : values[0].values[p] | uint32_t{values[kTogether - 1].values[p]} << 16;
    }
    __syncthreads();
    auto* const target = to + part / layout.parts * layout.image_step()
                         + pixel * layout.pixel_step() + part % layout.parts * layout.part_step
                         + channel + pack * kPack;
    if (channel + pack * kPack < layout.part_step)
#pragma unroll
      for (int p = row; p < kTile; p += kThreads / kPacks) {
        Words words;
#pragma unroll
        for (int w = 0; w < Words::kCount; ++w) words.values[w] = tile[pack * Words::kCount + w][p];
        if (pixel + p < layout.pixels)
          words.store(reinterpret_cast<uint32_t*>(target + p * layout.pixel_step()));
      }
    __syncthreads();  // the next tile is written
  };
  for (int64_t part = blockIdx.z; part < layout.images * layout.parts; part += gridDim.z)
    for (int64_t c = int64_t{blockIdx.y} * kTile; c < layout.part_step;
         c += int64_t{gridDim.y} * kTile)
      move(part, c);
}

/// (images, parts * channels, pixels) of `planes` in that order.
template <class E>
void planes_to_pixels(const kit::Device& device, const E* planes, const PixelLayout& layout,
                      E* to) {
  if (layout.elements() == 0) return;
  const dim3 grid(static_cast<unsigned>((layout.pixels + 63) / 64),
                  kit::Device::blocks((layout.part_step + 63) / 64),
                  kit::Device::blocks(layout.images * layout.parts));
  const bool has_packs = Pack<E>::divides(planes, layout.pixels);
  // clang-format off: it takes launches apart.
  make_pixels<E><<<grid, 256, 0, device.stream>>>(planes, layout, has_packs, to);
  // clang-format on
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
