/// Deformable convolution on CUDA, as a product of matrices: the kernel by what its taps read. A
/// block has a tile of output channels and of results; what taps read goes into shared memory, some
/// channels at a time, while the channels before are multiplied.
#pragma once

#if defined(__CUDACC__)

#include <mma.h>

#include <type_traits>

#include "tenon/kernels/warp.h"

namespace tenon::kernels::inline TENON_TARGET {

inline size_t deformable_convolution_workspace(int64_t, int64_t, int64_t, int64_t) {
  return 0;
}

/// @tparam rows output channels
template <class E, int rows> class DeformableTile {
 public:
  static constexpr int kThreads = 256;
  static constexpr int kRows = rows;
  static constexpr int kColumns = 32 * kThreads / rows;  // results: each thread has 8 x 4
  static constexpr int kDepth = 16;                      // pairs of a channel and a tap at a time
  static constexpr int kTaps = 9;                        // whose readings are known at a time
  /// Products of float16 are tensor cores', whose sums are float.
  static constexpr bool kHasTensorCores = std::is_same_v<E, __half>;
  using Factor = std::conditional_t<kHasTensorCores, __half, float>;
  static constexpr int kTile = 16;  // of a tensor core's products

  /// From a row to the next in shared memory, so that they lie in different banks.
  static constexpr int kKernelStep = kRows + (kHasTensorCores ? 8 : 4);
  static constexpr int kColumnsStep = kColumns + (kHasTensorCores ? 8 : 0);

  struct Memory {
    alignas(32) Factor kernel[2][kDepth][kKernelStep];
    alignas(32) Factor columns[2][kDepth][kColumnsStep];
    float sums[kHasTensorCores ? kThreads / kWarp : 1][kTile * kTile];
    float4 weights[kTaps][kColumns];
    int4 offsets[kTaps][kColumns];  // -1 where nothing is read
  };

  __device__ DeformableTile(const DeformableConvolutionRule& rule,
                            const DeformableConvolutionCall<E>& call, Memory& memory)
      : rule_(rule), call_(call), memory_(memory) {}

  __device__ void run() {
    const int64_t channels = call_.channels / rule_.groups;
    output_channels_ = call_.output_channels / rule_.groups;
    const int64_t row_tiles = (output_channels_ + kRows - 1) / kRows;
    const int64_t group = blockIdx.y / row_tiles;
    first_row_ = blockIdx.y % row_tiles * kRows;
    plane_ = call_.height * call_.width;
    first_column_ = int64_t{blockIdx.x} * kColumns;
    taps_ = static_cast<int>(rule_.rows.taps * rule_.columns.taps);
    channels_ = channels;
    first_channel_ = group * channels;
    kernel_ = call_.kernel + group * output_channels_ * channels * taps_;
    const int64_t share = call_.channels / rule_.offset_groups;
    for (image_ = blockIdx.z; image_ < call_.images; image_ += gridDim.z) {
      clear();
      for (int64_t c = first_channel_; c < first_channel_ + channels;) {
        const int64_t end = min_of((c / share + 1) * share, first_channel_ + channels);
        for (first_tap_ = 0; first_tap_ < taps_; first_tap_ += kTaps) {
          now_taps_ = taps_ - first_tap_ < kTaps ? taps_ - first_tap_ : kTaps;
          read_positions(c / share);
          multiply(c, end);
        }
        c = end;
      }
      write(group);
    }
  }

 private:
  static constexpr int kAcross = kColumns / 4;                      // threads
  static constexpr int kFetchedRows = kDepth / (kThreads / kWarp);  // of columns, by each warp
  static constexpr int kFetchedColumns = kColumns / kWarp;
  static constexpr int kFetchedWeights = kRows * kDepth / kThreads;

  static __device__ int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

  // What the taps of an offset group read for each result of the tile.
  __device__ void read_positions(int64_t offset_group) {
    __syncthreads();
    for (int i = threadIdx.x; i < now_taps_ * kColumns; i += kThreads) {
      const int tap = i / kColumns, column = i % kColumns;
      float weights[4] = {};
      int offsets[4] = {-1, -1, -1, -1};
      if (first_column_ + column < plane_) {
        const Reading r = reading_of(rule_, call_, image_, offset_group, first_tap_ + tap,
                                     first_column_ + column, 1);
        for (int k = 0; k < r.count; ++k) {
          weights[k] = r.taps[k].weight;
          offsets[k] = static_cast<int>(r.taps[k].offset);
        }
      }
      memory_.weights[tap][column] = {weights[0], weights[1], weights[2], weights[3]};
      memory_.offsets[tap][column] = {offsets[0], offsets[1], offsets[2], offsets[3]};
    }
    __syncthreads();
  }

  // Adds the products of channels [begin, end) and the taps whose readings are known.
  __device__ void multiply(int64_t begin, int64_t end) {
    const int depth = static_cast<int>(end - begin) * now_taps_;
    fetch(begin, 0, depth);
    store(0);
    __syncthreads();
    int buffer = 0;
    for (int k = kDepth; k < depth; k += kDepth) {
      fetch(begin, k, depth);
      add_products(buffer);
      buffer = 1 - buffer;
      store(buffer);
      __syncthreads();
    }
    add_products(buffer);
  }

  // Pairs [k, k + kDepth) of a channel, from `begin` on, and a tap, into registers.
  __device__ void fetch(int64_t begin, int k, int depth) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int r = 0; r < kFetchedRows; ++r) {
      const int pair = k + static_cast<int>(threadIdx.x) / kWarp + r * (kThreads / kWarp);
      const bool is_there = pair < depth;
      const int channel = is_there ? pair / now_taps_ : 0;
      tap_of_[r] = is_there ? pair - channel * now_taps_ : 0;
      const E* const x =
          call_.x + (image_ * call_.channels + begin + channel) * call_.in_height * call_.in_width;
#pragma unroll
      for (int c = 0; c < kFetchedColumns; ++c) {
        const int4 at = memory_.offsets[tap_of_[r]][c * kWarp + lane];
        // As they are read: a conversion here would wait for them.
        E* const to = read_[r][c];
        const E zero = static_cast<E>(0.f);
        to[0] = is_there && at.x >= 0 ? x[at.x] : zero;
        to[1] = is_there && at.y >= 0 ? x[at.y] : zero;
        to[2] = is_there && at.z >= 0 ? x[at.z] : zero;
        to[3] = is_there && at.w >= 0 ? x[at.w] : zero;
      }
    }
    const int pair = k + static_cast<int>(threadIdx.x) % kDepth;
    const int channel = pair / now_taps_, tap = pair - channel * now_taps_;
    const E* const from = kernel_ + (begin - first_channel_ + channel) * taps_ + first_tap_ + tap;
#pragma unroll
    for (int r = 0; r < kFetchedWeights; ++r) {
      const int64_t row = first_row_ + threadIdx.x / kDepth + r * (kThreads / kDepth);
      weights_[r] = pair < depth && row < output_channels_ ? from[row * channels_ * taps_]
                                                           : static_cast<E>(0.f);
    }
  }

  // What was fetched, into shared memory.
  __device__ void store(int buffer) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int r = 0; r < kFetchedRows; ++r)
#pragma unroll
      for (int c = 0; c < kFetchedColumns; ++c) {
        const float4 w = memory_.weights[tap_of_[r]][c * kWarp + lane];
        const E* const x = read_[r][c];
        memory_.columns[buffer][threadIdx.x / kWarp + r * (kThreads / kWarp)][c * kWarp + lane] =
            static_cast<Factor>(w.x * static_cast<float>(x[0]) + w.y * static_cast<float>(x[1])
                                + w.z * static_cast<float>(x[2]) + w.w * static_cast<float>(x[3]));
      }
#pragma unroll
    for (int r = 0; r < kFetchedWeights; ++r)
      memory_.kernel[buffer][threadIdx.x % kDepth][threadIdx.x / kDepth + r * (kThreads / kDepth)] =
          static_cast<Factor>(weights_[r]);
  }

  __device__ void clear() {
    if constexpr (kHasTensorCores) {
      for (auto& row : products_)
        for (auto& product : row) nvcuda::wmma::fill_fragment(product, 0.f);
    } else {
      for (float& sum : sums_) sum = 0;
    }
  }

  __device__ void add_products(int buffer) {
    if constexpr (kHasTensorCores)
      add_tiles(buffer);
    else
      add_elements(buffer);
  }

  // Each thread has eight output channels of four results.
  __device__ void add_elements(int buffer) {
    const int row = static_cast<int>(threadIdx.x) / kAcross * 8;
    const int column = static_cast<int>(threadIdx.x) % kAcross * 4;
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const float4 low = *reinterpret_cast<const float4*>(&memory_.kernel[buffer][k][row]);
      const float4 high = *reinterpret_cast<const float4*>(&memory_.kernel[buffer][k][row + 4]);
      const float4 b = *reinterpret_cast<const float4*>(&memory_.columns[buffer][k][column]);
      const float a[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int m = 0; m < 8; ++m) {
        sums_[4 * m] += a[m] * b.x;
        sums_[4 * m + 1] += a[m] * b.y;
        sums_[4 * m + 2] += a[m] * b.z;
        sums_[4 * m + 3] += a[m] * b.w;
      }
    }
  }

  // Each warp has 32 output channels of 32 results.
  static constexpr int kWarpTiles = 32 / kTile;
  __device__ int warp_row() const {
    return static_cast<int>(threadIdx.x) / kWarp % (kRows / 32) * 32;
  }
  __device__ int warp_column() const {
    return static_cast<int>(threadIdx.x) / kWarp / (kRows / 32) * 32;
  }
  __device__ void add_tiles(int buffer) {
    using namespace nvcuda::wmma;
    static_assert(kDepth == kTile);
    fragment<matrix_a, kTile, kTile, kTile, Factor, col_major> a[kWarpTiles];
    fragment<matrix_b, kTile, kTile, kTile, Factor, row_major> b[kWarpTiles];
    for (int i = 0; i < kWarpTiles; ++i) {
      load_matrix_sync(a[i], &memory_.kernel[buffer][0][warp_row() + i * kTile], kKernelStep);
      load_matrix_sync(b[i], &memory_.columns[buffer][0][warp_column() + i * kTile], kColumnsStep);
    }
    for (int i = 0; i < kWarpTiles; ++i)
      for (int j = 0; j < kWarpTiles; ++j) mma_sync(products_[i][j], a[i], b[j], products_[i][j]);
  }

  __device__ void write(int64_t group) {
    if constexpr (kHasTensorCores)
      write_tiles(group);
    else
      write_elements(group);
  }

  __device__ void write_tiles(int64_t group) {
    float* const sums = memory_.sums[threadIdx.x / kWarp];
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < kWarpTiles; ++i)
#pragma unroll
      for (int j = 0; j < kWarpTiles; ++j) {
        nvcuda::wmma::store_matrix_sync(sums, products_[i][j], kTile, nvcuda::wmma::mem_row_major);
        __syncwarp();
        for (int k = lane; k < kTile * kTile; k += kWarp)
          write_element(group, warp_row() + i * kTile + k / kTile,
                        first_column_ + warp_column() + j * kTile + k % kTile, sums[k]);
        __syncwarp();
      }
  }

  __device__ void write_elements(int64_t group) {
    const int64_t column = first_column_ + threadIdx.x % kAcross * 4;
#pragma unroll
    for (int m = 0; m < 8; ++m)
#pragma unroll
      for (int n = 0; n < 4; ++n)
        write_element(group, static_cast<int>(threadIdx.x) / kAcross * 8 + m, column + n,
                      sums_[4 * m + n]);
  }

  // `row` is the tile's, `column` the plane's.
  __device__ void write_element(int64_t group, int row, int64_t column, float sum) {
    if (first_row_ + row >= output_channels_ || column >= plane_) return;
    const int64_t output_channel = group * output_channels_ + first_row_ + row;
    const float bias = call_.bias == nullptr ? 0.f : static_cast<float>(call_.bias[output_channel]);
    call_.y[(image_ * call_.output_channels + output_channel) * plane_ + column] =
        static_cast<E>(sum + bias);
  }

  const DeformableConvolutionRule& rule_;
  const DeformableConvolutionCall<E>& call_;
  Memory& memory_;
  const E* kernel_ = nullptr;  // of the group
  int64_t image_ = 0, plane_ = 0, channels_ = 0, first_channel_ = 0, output_channels_ = 0;
  int64_t first_row_ = 0, first_column_ = 0;
  int taps_ = 0, first_tap_ = 0, now_taps_ = 0;
  float sums_[kHasTensorCores ? 1 : 32];
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kTile, kTile, kTile, float>
      products_[kHasTensorCores ? kWarpTiles : 1][kHasTensorCores ? kWarpTiles : 1];
  E read_[kFetchedRows][kFetchedColumns][4], weights_[kFetchedWeights];
  int tap_of_[kFetchedRows];
};

template <class E, int rows>
__global__ void __launch_bounds__(DeformableTile<E, rows>::kThreads)
    deformable_tiles(DeformableConvolutionRule rule, DeformableConvolutionCall<E> call) {
  __shared__ typename DeformableTile<E, rows>::Memory memory;
  DeformableTile<E, rows>(rule, call, memory).run();
}

template <class E, int rows>
void launch_deformable_tiles(const kit::Device& device, const DeformableConvolutionRule& rule,
                             const DeformableConvolutionCall<E>& call) {
  using Tile = DeformableTile<E, rows>;
  const int64_t plane = call.height * call.width;
  const int64_t row_tiles = (call.output_channels / rule.groups + rows - 1) / rows * rule.groups;
  const dim3 grid(static_cast<unsigned>((plane + Tile::kColumns - 1) / Tile::kColumns),
                  static_cast<unsigned>(row_tiles), kit::Device::blocks(call.images));
  // clang-format off: it takes launches apart.
  deformable_tiles<E, rows><<<grid, Tile::kThreads, 0, device.stream>>>(rule, call);
  // clang-format on
}

template <class E>
void deformable_convolution(const kit::Device& device, const DeformableConvolutionRule& rule,
                            const DeformableConvolutionCall<E>& call) {
  if (call.images * call.output_channels * call.height * call.width == 0) return;
  // What taps read is found once for all rows of a tile.
  if (call.output_channels / rule.groups > 128)
    launch_deformable_tiles<E, 256>(device, rule, call);
  else
    launch_deformable_tiles<E, 128>(device, rule, call);
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
