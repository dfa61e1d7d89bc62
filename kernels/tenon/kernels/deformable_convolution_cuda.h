/// Deformable convolution on CUDA, as a product of matrices: the kernel by what its taps read. The
/// input is copied with its channels side by side, and the kernel with its output channels. A block
/// has a tile of output channels and of results; what taps read goes into shared memory, some
/// channels at a time, while the channels before are multiplied.
#pragma once

#if defined(__CUDACC__)

#include <numeric>
#include <type_traits>

#include "tenon/kernels/background_copy.h"
#include "tenon/kernels/deformable_convolution.h"
#include "tenon/kernels/pixels_cuda.h"
#include "tenon/kernels/tile_sums_cuda.h"
#include "tenon/kernels/warp.h"
#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

/// How the copies lie. Channels of a part share group and offset group. Their pairs with taps are
/// the depth of the product: taps, in them channels.
struct DeformableLayout {
  PixelLayout pixels;
  int64_t group_parts, taps;  // parts of a group
  int64_t output_channels;    // of a group
  int64_t row_step;           // elements of the kernel's copy from pair to pair

  static constexpr int kChunk = 8;  // of channels and of output channels

  static int64_t rounded(int64_t count) { return (count + kChunk - 1) / kChunk * kChunk; }
  template <class E>
  static DeformableLayout of(const DeformableConvolutionRule& rule, int64_t images,
                             int64_t channels, int64_t pixels, int64_t output_channels) {
    const int64_t part = std::gcd(channels / rule.groups, channels / rule.offset_groups);
    const int64_t parts = part == 0 ? 0 : channels / part;
    return {PixelLayout::of<E, kChunk>(images, parts, part, pixels), parts / rule.groups,
            rule.rows.taps * rule.columns.taps, output_channels / rule.groups,
            rounded(output_channels / rule.groups)};
  }
  /// Pairs of a part.
  TENON_HD int64_t depth() const { return taps * pixels.part_step; }
  int64_t kernel_elements() const { return pixels.parts * depth() * row_step; }
};

inline size_t deformable_convolution_workspace(const DeformableConvolutionRule& rule,
                                               int64_t images, int64_t channels, int64_t pixels,
                                               int64_t output_channels) {
  const auto layout = DeformableLayout::of<float>(rule, images, channels, pixels, output_channels);
  Carver carver;
  carver.array<float>(layout.pixels.elements());
  carver.array<float>(layout.kernel_elements());
  return carver.bytes();
}

/// Copies a tile of the kernel: for each part its pairs, in them output channels. Pairs of a part
/// are counted in 32 bits.
template <class E, class Factor>
__global__ void __launch_bounds__(256)
    pack_kernel(const E* kernel, DeformableLayout layout, Factor* to) {
  __shared__ Factor tile[kWarp][kWarp + 1];
  const auto taps = static_cast<uint32_t>(layout.taps);
  const auto part_step = static_cast<uint32_t>(layout.pixels.part_step);
  const auto part_pairs = static_cast<uint32_t>(layout.pixels.channels) * taps;  // in the kernel
  const int64_t from_step = layout.group_parts * part_pairs;
  const int64_t first_row = int64_t{blockIdx.y} * kWarp;
  const uint32_t first_pair = blockIdx.x * kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int64_t part = blockIdx.z; part < layout.pixels.parts; part += gridDim.z) {
    const int64_t group = part / layout.group_parts;
    const E* const from = kernel + group * layout.output_channels * from_step
                          + (part - group * layout.group_parts) * part_pairs + first_pair + lane;
    __syncthreads();  // the part before is written
#pragma unroll
    for (int r = warp; r < kWarp; r += 8) {
      const int64_t row = first_row + r;
      const bool is_there = row < layout.output_channels && first_pair + lane < part_pairs;
      tile[r][lane] = static_cast<Factor>(is_there ? static_cast<float>(from[row * from_step]) : 0);
    }
    __syncthreads();
    Factor* const target = to + part * layout.depth() * layout.row_step + first_row + lane;
#pragma unroll
    for (int r = warp; r < kWarp; r += 8) {
      const uint32_t pair = first_pair + r, channel = pair / taps, tap = pair - channel * taps;
      if (channel < part_step && first_row + lane < layout.row_step)
        target[int64_t{tap * part_step + channel} * layout.row_step] = tile[lane][r];
    }
  }
}

/// A tile of output channels and results, which are its rows and columns.
template <class E> class DeformableTile {
 public:
  using Sums = TileSums<E>;
  using Factor = typename Sums::Factor;
  static constexpr int kThreads = Sums::Tile::kThreads;
  static constexpr int kRows = Sums::Tile::kRows, kColumns = Sums::Tile::kColumns;

  union Memory {
    typename Sums::Memory factors[2];
    alignas(32) float sums[kRows * kColumns];
  };

  __device__ DeformableTile(const DeformableConvolutionRule& rule,
                            const DeformableConvolutionCall<E>& call,
                            const DeformableLayout& layout, const E* pixels, const Factor* kernel,
                            Memory& memory)
      : rule_(rule),
        call_(call),
        layout_(layout),
        pixels_(pixels),
        kernel_(kernel),
        memory_(memory),
        plane_(static_cast<int>(call.height * call.width)),
        first_column_(static_cast<int>(blockIdx.x) * kColumns),
        step_(static_cast<int>(layout.pixels.part_step)),
        pixel_step_(static_cast<int>(layout.pixels.pixel_step())) {}

  __device__ void run() {
    const auto row_tiles = static_cast<int>((layout_.output_channels + kRows - 1) / kRows);
    const int64_t group = blockIdx.y / row_tiles;
    first_row_ = static_cast<int>(blockIdx.y) % row_tiles * kRows;
    column_ = first_column_ + static_cast<int>(threadIdx.x) / kAcross;
    const int64_t first_part = group * layout_.group_parts;
    for (int64_t image = blockIdx.z; image < call_.images; image += gridDim.z) {
      sums_.clear();
      for (int64_t part = first_part; part < first_part + layout_.group_parts; ++part)
        multiply(image, part);
      write(image, group);
    }
  }

 private:
  static constexpr int kDepth = Sums::kDepth;
  static constexpr int kChunk = DeformableLayout::kChunk;  // elements that a thread reads
  static constexpr int kAcross = kDepth / kChunk;          // threads for a column
  static constexpr int kPack = Pack<E>::kCount, kKernelPack = 16 / sizeof(Factor);
  static_assert(kDepth * kColumns == kChunk * kThreads);
  static constexpr int kPairThreads = kRows / kKernelPack;  // for a pair of the kernel

  // Adds the products of a part.
  __device__ void multiply(int64_t image, int64_t part) {
    const int depth = static_cast<int>(layout_.depth());
    const E* const pixels = pixels_ + image * layout_.pixels.image_step() + part * step_;
    const Factor* kernel = kernel_ + part * depth * layout_.row_step + first_row_
                           + static_cast<int>(threadIdx.x) % kPairThreads * kKernelPack;
    const int64_t offset_group =
        part * layout_.pixels.channels * rule_.offset_groups / call_.channels;
    const int64_t first_move = (image * rule_.offset_groups + offset_group) * layout_.taps;
    const int pair = static_cast<int>(threadIdx.x) / kPairThreads;
    kernel += pair * layout_.row_step;
    tap_ = -1;
    channel_ = static_cast<int>(threadIdx.x) % kAcross * kChunk + step_;
    find_move(first_move);
    int buffer = 0;
    fetch_kernel(kernel, buffer, depth);
    fetch(pixels);
    channel_ += kDepth;
    find_move(first_move);
    store(buffer);
    wait_for_copies();
    __syncthreads();
    for (int k = kDepth; k < depth; k += kDepth) {
      kernel += kDepth * layout_.row_step;
      fetch_kernel(kernel, 1 - buffer, depth - k);
      fetch(pixels);
      channel_ += kDepth;
      find_move(first_move);
      sums_.add(memory_.factors[buffer]);
      buffer = 1 - buffer;
      store(buffer);
      wait_for_copies();
      __syncthreads();
    }
    sums_.add(memory_.factors[buffer]);
    __syncthreads();
  }

  // The next pairs of the kernel, of which `left` are left. The thread's first is at `kernel`.
  __device__ void fetch_kernel(const Factor* kernel, int buffer, int left) {
    constexpr int kPairs = kThreads / kPairThreads;  // at a time
    const int row = static_cast<int>(threadIdx.x) % kPairThreads * kKernelPack;
    const int pair = static_cast<int>(threadIdx.x) / kPairThreads;
    const auto row_step = static_cast<int>(layout_.row_step);
    Factor* const to = memory_.factors[buffer].left + pair * Sums::kLeftStep + row;
#pragma unroll
    for (int i = 0; i < kDepth; i += kPairs) {
      const bool is_there = i + pair < left && first_row_ + row < row_step;
      copy_16(to + i * Sums::kLeftStep, is_there ? kernel + int64_t{i} * row_step : kernel_,
              is_there);
    }
  }

  // The tap of what the thread reads next. If it is another one, how it moves is read: that takes
  // long, and is looked at when the tap is read.
  __device__ void find_move(int64_t first_move) {
    if (channel_ < step_) return;
    for (; channel_ >= step_; ++tap_) channel_ -= step_;
    moves_ = true;
    if (tap_ >= layout_.taps || column_ >= plane_) return;
    const int64_t at = (first_move + tap_) * plane_;
    const E* const moves = call_.offsets + 2 * at + column_;
    move_row_ = moves[0];
    move_column_ = moves[plane_];
    if (call_.mask != nullptr) share_ = call_.mask[at + column_];
  }

  // What the tap reads for the thread's column: as bilinear_taps().
  __device__ void find_reading() {
    const int taps = static_cast<int>(rule_.columns.taps), line = tap_ / taps;
    const int across = static_cast<int>(call_.width), y = column_ / across;
    const float row = rule_.rows.position(y, line) + static_cast<float>(move_row_);
    const float column = rule_.columns.position(column_ - y * across, tap_ - line * taps)
                         + static_cast<float>(move_column_);
    const float share = call_.mask == nullptr ? 1.f : static_cast<float>(share_);
    const auto height = static_cast<int>(call_.in_height), width = static_cast<int>(call_.in_width);
    const bool is_inside = tap_ < layout_.taps && column_ < plane_ && row > -1 && column > -1
                           && row < static_cast<float>(height)
                           && column < static_cast<float>(width);
    const float top = floorf(row), left = floorf(column);
    const float down[] = {1 - (row - top), row - top};
    const float right[] = {1 - (column - left), column - left};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int i = static_cast<int>(top) + k / 2, j = static_cast<int>(left) + k % 2;
      const bool reads = is_inside && i >= 0 && j >= 0 && i < height && j < width;
      pixels_at_[k] = reads ? i * width + j : -1;
      weights_[k] = reads ? down[k / 2] * right[k % 2] * share : 0;
    }
  }

  // What the thread's column reads of its next channels, into registers.
  __device__ void fetch(const E* pixels) {
    if (moves_) find_reading();
    moves_ = false;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      // As they are read: a conversion here would wait for them.
      const E* const from = pixels + channel_ + int64_t{pixels_at_[k]} * pixel_step_;
#pragma unroll
      for (int i = 0; i < kChunk / kPack; ++i) {
        read_[k][i] = {};
        if (pixels_at_[k] >= 0) read_[k][i] = Pack<E>::load(from + i * kPack);
      }
    }
  }

  // What was fetched, into shared memory.
  __device__ void store(int buffer) {
    Pack<Factor, kChunk> values;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      float sum = 0;
#pragma unroll
      for (int k = 0; k < 4; ++k)
        sum += weights_[k] * static_cast<float>(read_[k][i / kPack].values[i % kPack]);
      values.values[i] = static_cast<Factor>(sum);
    }
    memory_.factors[buffer].store(static_cast<int>(threadIdx.x) / kAcross,
                                  static_cast<int>(threadIdx.x) % kAcross * kChunk, values);
  }

  // Teams add their sums in shared memory, one after the other.
  __device__ void write(int64_t image, int64_t group) {
    for (int team = 0; team < Sums::kTeamCount; ++team) {
      if (Sums::Tile::team() == team) sums_.put(memory_.sums, team > 0);
      __syncthreads();
    }
    for (int i = threadIdx.x; i < kRows * kColumns; i += kThreads) {
      const int row = first_row_ + i / kColumns, column = first_column_ + i % kColumns;
      if (row >= layout_.output_channels || column >= plane_) continue;
      const int64_t channel = group * layout_.output_channels + row;
      const float bias = call_.bias == nullptr ? 0.f : static_cast<float>(call_.bias[channel]);
      call_.y[(image * call_.output_channels + channel) * plane_ + column] =
          static_cast<E>(memory_.sums[i] + bias);
    }
    __syncthreads();  // the next image writes there
  }

  const DeformableConvolutionRule& rule_;
  const DeformableConvolutionCall<E>& call_;
  const DeformableLayout& layout_;
  const E* pixels_;
  const Factor* kernel_;
  Memory& memory_;
  Sums sums_;
  const int plane_, first_column_;
  const int step_, pixel_step_;
  int first_row_ = 0;
  int column_ = 0;  // the thread's
  // What it reads: channels from one on of a tap, and how the tap moves.
  int tap_ = 0, channel_ = 0;
  bool moves_ = false;  // and its reading is to be found
  E move_row_{}, move_column_{}, share_{};
  int pixels_at_[4];  // of pixels; -1 where nothing is read
  float weights_[4];
  Pack<E> read_[4][kChunk / kPack];
};

template <class E>
__global__ void __launch_bounds__(DeformableTile<E>::kThreads)
    deformable_tiles(DeformableConvolutionRule rule, DeformableConvolutionCall<E> call,
                     DeformableLayout layout, const E* pixels,
                     const typename DeformableTile<E>::Factor* kernel) {
  __shared__ typename DeformableTile<E>::Memory memory;
  DeformableTile<E>(rule, call, layout, pixels, kernel, memory).run();
}

/// `device.workspace` has as many bytes as deformable_convolution_workspace() says.
template <class E>
void deformable_convolution(const kit::Device& device, const DeformableConvolutionRule& rule,
                            const DeformableConvolutionCall<E>& call) {
  if (call.images * call.output_channels * call.height * call.width == 0) return;
  using Tile = DeformableTile<E>;
  using Factor = typename Tile::Factor;
  const auto layout = DeformableLayout::of<E>(rule, call.images, call.channels,
                                              call.in_height * call.in_width, call.output_channels);
  Carver carver(device.workspace);
  E* const pixels = carver.array<E>(layout.pixels.elements());
  auto* const kernel = carver.array<Factor>(layout.kernel_elements());
  const auto parts_of = [](int64_t count, int64_t each) {
    return static_cast<unsigned>((count + each - 1) / each);
  };
  planes_to_pixels(device, call.x, layout.pixels, pixels);
  const dim3 packs(parts_of(layout.depth(), kWarp), parts_of(layout.row_step, kWarp),
                   kit::Device::blocks(layout.pixels.parts));
  const dim3 tiles(
      parts_of(call.height * call.width, Tile::kColumns),
      parts_of(layout.output_channels, Tile::kRows) * static_cast<unsigned>(rule.groups),
      kit::Device::blocks(call.images));
  // clang-format off: it takes launches apart.
  if (layout.kernel_elements() > 0)
    pack_kernel<E, Factor><<<packs, 256, 0, device.stream>>>(call.kernel, layout, kernel);
  deformable_tiles<E><<<tiles, Tile::kThreads, 0, device.stream>>>(rule, call, layout, pixels, kernel);
  // clang-format on
}

}  // namespace tenon::kernels::inline TENON_TARGET
#endif
