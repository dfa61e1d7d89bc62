#include <cstddef>

#include "cuda/convolution/depthwise.h"
#include "cuda/divider.cuh"
#include "cuda/elements.cuh"

namespace tenon::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPack = DepthwiseParameters::kPack;

// What elements are, and what becomes of their sums.
template <class T> struct Floats {
  using Element = T;
  using Weight = T;

  void skip(int64_t) {}
  size_t result_bytes() const { return sizeof(T); }
  __device__ void load(const T* from, float (&to)[kPack]) const {
    const auto pack = *reinterpret_cast<const Pack<T, kPack>*>(from);
    for (int i = 0; i < kPack; ++i) to[i] = to_float(pack.values[i]);
  }
  __device__ void load_weights(const T* from, float (&to)[kPack]) const { load(from, to); }

  /// Of neighbouring elements of a line, of which `count` are there.
  template <int kAtOnce>
  __device__ void store(const DepthwiseParameters& p, const float (&sums)[kAtOnce][kPack],
                        int64_t channel, int64_t at, int count) const {
    float bias[kPack] = {};
    if (p.bias != nullptr) load(static_cast<const T*>(p.bias) + channel, bias);
#pragma unroll
    for (int o = 0; o < kAtOnce; ++o) {
      if (o >= count) return;
      Pack<T, kPack> pack;
      for (int k = 0; k < kPack; ++k)
        pack.values[k] = from_float<T>(activated(p.epilogue, sums[o][k] + bias[k]));
      *reinterpret_cast<Pack<T, kPack>*>(static_cast<T*>(p.result) + at + o * p.channels) = pack;
    }
  }
};

// Sums of at most 25 products of bytes are exact in float, which is multiplied twice as fast as
// int32.
template <class T> struct Bytes {
  using Element = T;
  using Weight = int8_t;
  const void* data_zero;
  QuantizedEpilogue epilogue;

  void skip(int64_t elements) {
    if (epilogue.addend != nullptr)
      epilogue.addend = static_cast<const uint8_t*>(epilogue.addend) + elements;
  }
  size_t result_bytes() const { return static_cast<size_t>(bits_of(epilogue.to)) / 8; }
  __device__ void load(const T* from, float (&to)[kPack]) const {
    constexpr bool kIsSigned = std::is_signed_v<T>;
    numbers(from, kIsSigned, static_cast<float>(*static_cast<const T*>(data_zero)), to);
  }
  __device__ void load_weights(const int8_t* from, float (&to)[kPack]) const {
    numbers(from, true, 0, to);
  }

  template <int kAtOnce>
  __device__ void store(const DepthwiseParameters& p, const float (&sums)[kAtOnce][kPack],
                        int64_t channel, int64_t at, int count) const {
    const int32_t* bias = static_cast<const int32_t*>(p.bias) + channel;
    const QuantizedEpilogue& e = epilogue;
    if (!e.makes_bytes()) {
#pragma unroll
      for (int o = 0; o < kAtOnce; ++o)
        for (int k = 0; o < count && k < kPack; ++k)
          store_result(e,
                       static_cast<int32_t>(static_cast<uint32_t>(static_cast<int32_t>(sums[o][k]))
                                            + static_cast<uint32_t>(bias[k])),
                       channel + k, p.result, at + o * p.channels + k);
      return;
    }
    with_byte_epilogue(e, [&](const auto& made) {
      using Made = std::decay_t<decltype(made)>;
      typename Made::Entry entries[kPack];
      for (int k = 0; k < kPack; ++k)
        entries[k] = made.entry(number_at(e.scale, channel + k, 1),
                                number_at(e.shift, channel + k, 0), bias[k]);
#pragma unroll
      for (int o = 0; o < kAtOnce; ++o) {
        if (o >= count) return;
        uint32_t addends = 0;
        if constexpr (Made::kReadsAddend)
          addends = word_at(static_cast<const uint8_t*>(e.addend) + at + o * p.channels);
        const ByteNumbers other(addends, e.addend_is_signed);
        const auto byte = [&](unsigned k) { return made(sums[o][k], entries[k], other, k); };
        *reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(p.result) + at + o * p.channels) =
            packed_bytes(byte(0), byte(1), byte(2), byte(3));
      }
    });
  }

 private:
  static_assert(kPack == sizeof(uint32_t));
  __device__ static uint32_t word_at(const void* from) {
    return *static_cast<const uint32_t*>(from);
  }
  __device__ static void numbers(const void* from, bool is_signed, float zero, float (&to)[kPack]) {
    const ByteNumbers bytes(word_at(from), is_signed);
    for (unsigned i = 0; i < kPack; ++i) to[i] = bytes.less((is_signed ? 128.f : 0.f) + zero, i);
  }
};

struct Dividers {
  Divider packs, columns, rows;
};

// What is read of a row serves all elements of it that the thread makes.
template <class Elements, int kKernel, int kStride, int kAtOnce>
__global__ void depthwise(DepthwiseParameters p, Elements elements, Dividers dividers,
                          uint32_t count) {
  using T = typename Elements::Element;
  using Weight = typename Elements::Weight;
  uint32_t rest = blockIdx.x * kThreads + threadIdx.x;
  if (rest >= count) return;
  const int64_t channel = int64_t{dividers.packs.split(rest)} * kPack;
  const int first = static_cast<int>(dividers.columns.split(rest)) * kAtOnce;
  const int row = static_cast<int>(dividers.rows.split(rest));
  const int64_t image = rest;
  constexpr int kReach = (kAtOnce - 1) * kStride + kKernel;

  float sums[kAtOnce][kPack] = {};
  const int left = first * kStride - p.pre[1];
#pragma unroll
  for (int ky = 0; ky < kKernel; ++ky) {
    const int y = row * kStride - p.pre[0] + ky;
    if (y < 0 || y >= p.in[0]) continue;
    float weights[kKernel][kPack];
    const Weight* from =
        static_cast<const Weight*>(p.weights) + ky * kKernel * p.channels + channel;
#pragma unroll
    for (int kx = 0; kx < kKernel; ++kx) elements.load_weights(from + kx * p.channels, weights[kx]);
    const T* line =
        static_cast<const T*>(p.data) + ((image * p.in[0] + y) * p.in[1]) * p.channels + channel;
#pragma unroll
    for (int i = 0; i < kReach; ++i) {
      const int x = left + i;
      if (x < 0 || x >= p.in[1]) continue;
      float values[kPack];
      elements.load(line + x * p.channels, values);
#pragma unroll
      for (int o = 0; o < kAtOnce; ++o) {
        const int kx = i - o * kStride;
        if (kx < 0 || kx >= kKernel) continue;
        for (int k = 0; k < kPack; ++k) sums[o][k] += values[k] * weights[kx][k];
      }
    }
  }

  const int64_t to = ((image * p.out[0] + row) * p.out[1] + first) * p.channels + channel;
  elements.store(p, sums, channel, to, p.out[1] - first);
}

// In parts of fewer than 2^31 threads.
template <int kKernel, int kStride, int kAtOnce, class Elements>
void launch(DepthwiseParameters p, Elements elements, cudaStream_t stream) {
  const int64_t packs = p.channels / kPack, columns = (p.out[1] + kAtOnce - 1) / kAtOnce;
  const Dividers dividers{Divider(packs), Divider(columns), Divider(p.out[0])};
  const int64_t threads = packs * columns * p.out[0];
  constexpr int64_t kMaxThreads = int64_t{1} << 30;
  const int64_t at_once = threads < kMaxThreads ? kMaxThreads / threads : 1;
  for (int64_t first = 0; first < p.images; first += at_once) {
    const int64_t some = at_once < p.images - first ? at_once : p.images - first;
    const int64_t count = some * threads;
    depthwise<Elements, kKernel, kStride, kAtOnce>
        <<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
            p, elements, dividers, static_cast<uint32_t>(count));
    const int64_t read = some * p.in[0] * p.in[1] * p.channels;
    const int64_t written = some * p.out[0] * p.out[1] * p.channels;
    p.data = static_cast<const std::byte*>(p.data) + read * sizeof(typename Elements::Element);
    p.result = static_cast<std::byte*>(p.result) + written * elements.result_bytes();
    elements.skip(written);
  }
}

template <int kKernel, int kStride, class Elements>
void launch(const DepthwiseParameters& p, const Elements& elements, cudaStream_t stream) {
  if (p.at_once == 4)
    launch<kKernel, kStride, 4>(p, elements, stream);
  else if (p.at_once == 2)
    launch<kKernel, kStride, 2>(p, elements, stream);
  else
    launch<kKernel, kStride, 1>(p, elements, stream);
}

template <class Elements>
void launch(const DepthwiseParameters& p, const Elements& elements, cudaStream_t stream) {
  if (p.kernel == 3 && p.stride == 1)
    launch<3, 1>(p, elements, stream);
  else if (p.kernel == 3)
    launch<3, 2>(p, elements, stream);
  else if (p.stride == 1)
    launch<5, 1>(p, elements, stream);
  else
    launch<5, 2>(p, elements, stream);
}

}  // namespace

void launch_depthwise(const DepthwiseParameters& p, cudaStream_t stream) {
  with_device_float(p.type, [&](auto zero) { launch(p, Floats<decltype(zero)>{}, stream); });
}

void launch_integer_depthwise(const IntegerDepthwiseParameters& p, cudaStream_t stream) {
  if (p.plane.type == DataType::kINT8)
    launch(p.plane, Bytes<int8_t>{p.data_zero, p.epilogue}, stream);
  else
    launch(p.plane, Bytes<uint8_t>{p.data_zero, p.epilogue}, stream);
}

}  // namespace tenon::cuda
