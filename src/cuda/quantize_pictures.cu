#include "cuda/elements.cuh"
#include "cuda/quantize_pictures.h"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 256;

/// rounded(x / scale) + zero, within the bounds; NaN becomes the lowest.
class ToByte {
 public:
  __device__ explicit ToByte(const PictureQuantization& p) {
    with_device_float(p.scale_type, [&](auto zero) {
      scale_ = to_float(*static_cast<const decltype(zero)*>(p.scale));
    });
    if (p.zero != nullptr)
      zero_ =
          p.is_signed ? *static_cast<const int8_t*>(p.zero) : *static_cast<const uint8_t*>(p.zero);
    lowest_ = static_cast<float>(p.lowest - zero_);
    highest_ = static_cast<float>(p.highest - zero_);
  }
  __device__ uint32_t operator()(float x) const {
    constexpr float kRounds = 12582912;  // added, it leaves whole numbers in the low bits
    const float number = fminf(fmaxf(__fdiv_rn(x, scale_), lowest_), highest_);
    return (__float_as_uint(__fadd_rn(number, kRounds)) + static_cast<uint32_t>(zero_)) & 0xff;
  }

 private:
  float scale_ = 1, lowest_, highest_;
  int zero_ = 0;
};

// A thread makes kPack positions, of all channels.
template <class T, int kChannels, int kPack>
__global__ void __launch_bounds__(kThreads)
    quantize_pictures(const __grid_constant__ PictureQuantization p) {
  using Numbers = Pack<T, kPack>;
  const int64_t packs = p.positions / kPack;
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= packs * p.images) return;
  const int64_t image = i / packs;
  const auto* in = static_cast<const Numbers*>(p.in) + image * kChannels * packs + i % packs;
  Numbers numbers[kChannels];
#pragma unroll
  for (int c = 0; c < kChannels; ++c) numbers[c] = in[c * packs];
  const ToByte to_byte(p);
  constexpr int kWord = kPack == 1 ? 1 : 4;  // bytes that are written at once
  uint32_t words[kPack * kChannels / kWord] = {};
#pragma unroll
  for (int k = 0; k < kPack; ++k)
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const int at = k * kChannels + c;
      words[at / kWord] |= to_byte(to_float(numbers[c].values[k])) << at % kWord * 8;
    }
  using Word = std::conditional_t<kWord == 1, uint8_t, uint32_t>;
  auto* out = static_cast<Word*>(p.out) + i * (kPack * kChannels / kWord);
#pragma unroll
  for (int w = 0; w < kPack * kChannels / kWord; ++w) out[w] = static_cast<Word>(words[w]);
}

template <class T, int kChannels, int kPack>
void launch_packs(const PictureQuantization& p, cudaStream_t stream) {
  const int64_t threads = p.images * p.positions / kPack;
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  quantize_pictures<T, kChannels, kPack><<<blocks, kThreads, 0, stream>>>(p);
}

template <class T, int kChannels>
void launch_channels(const PictureQuantization& p, cudaStream_t stream) {
  constexpr int kPack = 16 / sizeof(T);
  if (p.positions % kPack == 0 && is_multiple(p.in, 16) && is_multiple(p.out, 4))
    launch_packs<T, kChannels, kPack>(p, stream);
  else
    launch_packs<T, kChannels, 1>(p, stream);
}

}  // namespace

void launch_picture_quantization(const PictureQuantization& p, cudaStream_t stream) {
  with_device_float(p.type, [&](auto zero) {
    using T = decltype(zero);
    if (p.channels == 2)
      launch_channels<T, 2>(p, stream);
    else if (p.channels == 3)
      launch_channels<T, 3>(p, stream);
    else
      launch_channels<T, 4>(p, stream);
  });
}

}  // namespace tenon::cuda
