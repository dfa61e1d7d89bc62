/// Sparse convolution on CUDA. A block has a tile of output channels and results; what the results
/// read at a tap goes into shared memory, some channels at a time. Taps at which no result of the
/// tile reads anything are left out: the order of results makes them many.
#pragma once

#if defined(__CUDACC__)

#include "tenon/kernels/sparse_product.h"
#include "tenon/kernels/tile_sums_cuda.h"

namespace tenon::kernels::inline TENON_TARGET {

/// The kernel's copy: taps, in them channels, in them output channels, both padded with zeros.
struct SparseKernelLayout {
  int64_t taps, channels, rows;

  static constexpr int64_t kDepth = 32, kPack = 8;

  static int64_t rounded(int64_t count, int64_t to) { return (count + to - 1) / to * to; }
  static SparseKernelLayout of(int64_t taps, int64_t channels, int64_t output_channels) {
    return {taps, rounded(channels, kDepth), rounded(output_channels, kPack)};
  }
  TENON_HD int64_t elements() const { return taps * channels * rows; }
};

template <class E, class Factor> struct PackSparseKernel {
  SparseProduct<E> p;
  SparseKernelLayout layout;
  Factor* to;

  __device__ void operator()(int64_t i) const {
    const int64_t row = i % layout.rows, pair = i / layout.rows;
    const int64_t channel = pair % layout.channels, tap = pair / layout.channels;
    const bool is_there = row < p.output_channels && channel < p.channels;
    to[i] = static_cast<Factor>(
        is_there ? static_cast<float>(p.kernel[(row * p.taps + tap) * p.channels + channel]) : 0.f);
  }
};

template <class E> class SparseTile {
 public:
  using Sums = TileSums<E>;
  using Factor = typename Sums::Factor;
  static constexpr int kThreads = Sums::Tile::kThreads;
  static constexpr int kRows = Sums::Tile::kRows, kColumns = Sums::Tile::kColumns;

  union Memory {
    typename Sums::Memory factors;
    alignas(32) float sums[kRows * kColumns];
  };

  __device__ SparseTile(const SparseProduct<E>& product, const SparseKernelLayout& layout,
                        const Factor* kernel, bool has_packs, Memory& memory)
      : p_(product), layout_(layout), kernel_(kernel), has_packs_(has_packs), memory_(memory) {}

  /// The tile of results `tile`.
  __device__ void run(int64_t tile) {
    first_row_ = static_cast<int>(blockIdx.y) * kRows;
    first_result_ = tile * kColumns;
    const int64_t result = result_at(static_cast<int>(threadIdx.x) / kAcross);
    sums_.clear();
    for (int64_t tap = 0; tap < p_.taps; ++tap) {
      const int64_t input = result < 0 ? -1 : p_.table[tap * p_.results + result];
      const bool reads = input >= 0 && input < p_.inputs;
      if (__syncthreads_or(reads) == 0) continue;
      for (int64_t channel = 0; channel < layout_.channels; channel += kDepth) {
        fetch_kernel(tap, channel);
        fetch(reads ? p_.x + input * p_.channels : nullptr, channel);
        __syncthreads();
        sums_.add(memory_.factors);
        __syncthreads();
      }
    }
    write();
  }

 private:
  static constexpr int kDepth = Sums::kDepth;
  static constexpr int kChunk = 8;                 // channels that a thread reads
  static constexpr int kAcross = kDepth / kChunk;  // threads for a column
  static_assert(kDepth * kColumns == kChunk * kThreads && kDepth == SparseKernelLayout::kDepth);

  // The result of a column; -1 where there is none.
  __device__ int64_t result_at(int column) const {
    const int64_t at = first_result_ + column;
    if (at >= p_.results) return -1;
    const int64_t result = p_.order == nullptr ? at : p_.order[at];
    return result >= 0 && result < p_.results ? result : -1;
  }
  __device__ void fetch_kernel(int64_t tap, int64_t channel) {
    using KernelPack = Pack<Factor, SparseKernelLayout::kPack / 2>;
    constexpr int kPacks = kRows / KernelPack::kCount;
    for (int i = static_cast<int>(threadIdx.x); i < kDepth * kPacks; i += kThreads) {
      const int pair = i / kPacks, row = i % kPacks * KernelPack::kCount;
      KernelPack values{};
      if (first_row_ + row < layout_.rows)
        values =
            KernelPack::load(kernel_ + ((tap * layout_.channels + channel + pair) * layout_.rows)
                             + first_row_ + row);
      values.store(memory_.factors.left + pair * Sums::kLeftStep + row);
    }
  }
  __device__ void fetch(const E* from, int64_t channel) {
    const int first = static_cast<int>(threadIdx.x) % kAcross * kChunk;
    constexpr int kPack = Pack<E>::kCount;
    Pack<Factor, kChunk> values;
#pragma unroll
    for (int i = 0; i < kChunk; i += kPack) {
      const int64_t c = channel + first + i;
      Pack<E> read{};
      if (from != nullptr && has_packs_) {
        if (c < p_.channels) read = Pack<E>::load(from + c);
      } else if (from != nullptr) {
        for (int k = 0; k < kPack; ++k)
          if (c + k < p_.channels) read.values[k] = from[c + k];
      }
#pragma unroll
      for (int k = 0; k < kPack; ++k)
        values.values[i + k] = static_cast<Factor>(static_cast<float>(read.values[k]));
    }
    memory_.factors.store(static_cast<int>(threadIdx.x) / kAcross, first, values);
  }
  // Teams add their sums in shared memory, one after the other.
  __device__ void write() {
    for (int team = 0; team < Sums::kTeamCount; ++team) {
      if (Sums::Tile::team() == team) sums_.put(memory_.sums, team > 0);
      __syncthreads();
    }
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kColumns; i += kThreads) {
      const int64_t result = result_at(i / kRows), row = first_row_ + i % kRows;
      if (row >= p_.output_channels || result < 0) continue;
      const float bias = p_.bias == nullptr ? 0.f : static_cast<float>(p_.bias[row]);
      p_.y[result * p_.output_channels + row] =
          static_cast<E>(p_.activated(memory_.sums[i % kRows * kColumns + i / kRows] + bias));
    }
    __syncthreads();  // the next tile writes there
  }

  const SparseProduct<E>& p_;
  const SparseKernelLayout& layout_;
  const Factor* kernel_;
  bool has_packs_;  // channels can be read as packs
  Memory& memory_;
  Sums sums_;
  int first_row_ = 0;
  int64_t first_result_ = 0;
};

template <class E>
__global__ void __launch_bounds__(SparseTile<E>::kThreads)
    sparse_tiles(SparseProduct<E> product, SparseKernelLayout layout,
                 const typename SparseTile<E>::Factor* kernel, bool has_packs) {
  __shared__ typename SparseTile<E>::Memory memory;
  SparseTile<E> tile(product, layout, kernel, has_packs, memory);
  for (int64_t i = blockIdx.x; i * SparseTile<E>::kColumns < product.results; i += gridDim.x)
    tile.run(i);
}

template <class E>
size_t sparse_product_workspace(int64_t, int64_t channels, int64_t taps, int64_t output_channels) {
  Carver carver;
  carver.array<typename SparseTile<E>::Factor>(
      SparseKernelLayout::of(taps, channels, output_channels).elements());
  return carver.bytes();
}

template <class E>
void sparse_product(const kit::Device& device, Carver& carver, const SparseProduct<E>& product) {
  using Tile = SparseTile<E>;
  using Factor = typename Tile::Factor;
  if (product.results * product.output_channels == 0) return;
  const auto layout =
      SparseKernelLayout::of(product.taps, product.channels, product.output_channels);
  Factor* const kernel = carver.array<Factor>(layout.elements());
  device.parallel_for(layout.elements(), PackSparseKernel<E, Factor>{product, layout, kernel});
  const dim3 tiles(
      kit::Device::blocks((product.results + Tile::kColumns - 1) / Tile::kColumns),
      static_cast<unsigned>((product.output_channels + Tile::kRows - 1) / Tile::kRows));
  // clang-format off: it takes launches apart.
  sparse_tiles<E><<<tiles, Tile::kThreads, 0, device.stream>>>(product, layout, kernel, Pack<E>::divides(product.x, product.channels));
  // clang-format on
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
