// Convolutions of few channels, whose windows' lines are read from lines of the data in shared
// memory: neighbouring windows share most of them.
#include <algorithm>

#include "cuda/capability.h"
#include "cuda/quantized_gemm.cuh"

namespace tenon::cuda {
namespace {

constexpr int kWarps = 4, kThreads = kWarps * 32;
constexpr int kRowBlocks = 2, kWarpRows = kRowBlocks * 16;
constexpr int kRows = kWarps * kWarpRows, kColumns = kGroup;
constexpr int kDepth = QuantizedGemm::kDepth, kSliceBytes = kColumns * kDepth;
constexpr int kStep = 32;  // bytes of a window that an instruction multiplies

constexpr int kLongest = 1 << 20;  // bytes of a line, more than fit into shared memory

// Lines of the data that a tile of positions reads: those of the windows of one line of the result
// after the other, with the padding at both ends.
struct Lines {
  int count;                    // of the result's lines
  int margin;                   // bytes before a line
  int pitch;                    // bytes from a line to the next
  int chunks;                   // of a line of the window
  int in_window;                // all of them
  int buffers;                  // 2: a tile's lines are loaded while the one before is multiplied
  Divider of_pitch, of_window;  // chunks from a line to the next, lines of a window

  explicit Lines(const QuantizedGemm& p)
      : count((kRows + p.out[1] - 2) / p.out[1] + 1),
        margin(static_cast<int>(
            std::min<int64_t>(QuantizedGemm::line_bytes(p.pre[1], p.channels), kLongest))),
        chunks(p.line_bytes() / kChunk),
        in_window(p.kernel[0] * chunks),
        buffers(1) {
    const int64_t last = int64_t{p.out[1] - 1} * p.stride[1] - p.pre[1];
    // A word is read from two.
    const int64_t end = std::max(int64_t{p.in[1]} * p.channels,
                                 last * p.channels + p.line_bytes() + int64_t{sizeof(uint32_t)});
    const int64_t bytes = (margin + end + kChunk - 1) / kChunk * kChunk;
    pitch = static_cast<int>(std::min<int64_t>(bytes, kLongest));
    of_pitch = Divider(pitch / kChunk);
    of_window = Divider(p.kernel[0]);
  }
  int64_t bytes(const QuantizedGemm& p) const {
    return int64_t{buffers} * count * p.kernel[0] * pitch;
  }
};

// Four bytes at any address.
__device__ uint32_t word_at(const uint8_t* aligned, unsigned bits) {
  const auto* words = reinterpret_cast<const uint32_t*>(aligned);
  return __funnelshift_r(words[0], words[1], bits);
}

template <class Data> class Block {
 public:
  __device__ Block(const QuantizedGemm& p, const Dividers& dividers, const Lines& lines,
                   uint8_t* shared)
      : p_(p),
        dividers_(dividers),
        l_(lines),
        weights_(shared),
        data_(shared + (p.depth() + kDepth - 1) / kDepth * kSliceBytes),
        buffer_bytes_(lines.count * p.kernel[0] * lines.pitch),
        first_column_(static_cast<int>(blockIdx.y) * kColumns) {}

  __device__ void load_weights() const {
    const int slices = (p_.depth() + kDepth - 1) / kDepth;
    const int64_t padded = QuantizedGemm::padded(p_.output_channels);
    for (int slice = 0; slice < slices; ++slice) {
      const auto* from =
          static_cast<const uint8_t*>(p_.weights) + (slice * padded + first_column_) * kDepth;
      for (int at = static_cast<int>(threadIdx.x) * kChunk; at < kSliceBytes;
           at += kThreads * kChunk)
        copy_16(weights_ + slice * kSliceBytes + at, from + at, true);
    }
  }

  __device__ void load_data(int64_t first_row, int64_t rows, int buffer) const {
    uint8_t* const data = data_ + buffer * buffer_bytes_;
    const int64_t last_row = min(first_row + kRows, rows) - 1;
    const auto first_line =
        static_cast<int64_t>(dividers_.columns.quotient(static_cast<uint32_t>(first_row)));
    const auto last_line =
        static_cast<int64_t>(dividers_.columns.quotient(static_cast<uint32_t>(last_row)));
    const auto out_lines = static_cast<int>(last_line - first_line + 1);
    const int64_t all_lines = int64_t{p_.images} * p_.out[0];
    const int line_bytes = p_.in[1] * p_.channels;
    const uint4 padding = *static_cast<const uint4*>(p_.padding);
    const auto count = static_cast<uint32_t>(out_lines * p_.kernel[0] * l_.pitch / kChunk);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
      uint32_t window_line = i;
      const int at = static_cast<int>(l_.of_pitch.split(window_line)) * kChunk - l_.margin;
      uint32_t image = window_line;  // and before it the result's line
      const auto in_window = static_cast<int>(l_.of_window.split(image));
      image = static_cast<uint32_t>(min(first_line + image, all_lines - 1));
      const auto out_line = static_cast<int>(dividers_.lines.split(image));
      const int line = out_line * p_.stride[0] - p_.pre[0] + in_window * p_.dilation[0];
      const auto* from =
          static_cast<const uint8_t*>(p_.data) + (int64_t{image} * p_.in[0] + line) * line_bytes;
      uint8_t* to = data + i * kChunk;
      if (line < 0 || line >= p_.in[0] || at + kChunk <= 0 || at >= line_bytes)
        *reinterpret_cast<uint4*>(to) = padding;
      else if (line_bytes % kChunk == 0)
        copy_16(to, from + at, true);
      else
        *reinterpret_cast<uint4*>(to) = bytes_of_line(p_, from, at, line_bytes);
    }
  }

  __device__ void multiply(int64_t first_row, int64_t rows, int buffer,
                           WarpSums<kRowBlocks, 1>& sums) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int matrix = lane / 8, in_matrix = lane % 8;
    const auto first_line = dividers_.columns.quotient(static_cast<uint32_t>(first_row));
    const uint8_t* windows[kRowBlocks * 2];
    unsigned bits[kRowBlocks * 2];
#pragma unroll
    for (int i = 0; i < kRowBlocks * 2; ++i) {
      const int64_t row = first_row + warp * kWarpRows + i * 8 + lane / 4;
      auto line = static_cast<uint32_t>(row < rows ? row : rows - 1);
      const auto column = static_cast<int>(dividers_.columns.split(line));
      const int at = static_cast<int>(line - first_line) * p_.kernel[0] * l_.pitch + l_.margin
                     + (column * p_.stride[1] - p_.pre[1]) * p_.channels;
      windows[i] = data_ + buffer * buffer_bytes_ + at / 4 * 4 + lane % 4 * 4;
      bits[i] = static_cast<unsigned>(at) % 4 * 8;
    }
    int line = 0, chunk = 0;  // of the window
    const auto next = [&] {
      const int at = line * l_.pitch + chunk * kChunk;
      if (++chunk == l_.chunks) {
        chunk = 0;
        // Zeros multiply what is behind the last.
        if (line + 1 < p_.kernel[0]) ++line;
      }
      return at;
    };
    const int steps = (l_.in_window + 1) / 2;
    for (int step = 0; step < steps; ++step) {
      const int low = next(), high = next();
      uint32_t a[kRowBlocks][4];
#pragma unroll
      for (int i = 0; i < kRowBlocks; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          a[i][j] = word_at(windows[2 * i + j % 2] + (j < 2 ? low : high), bits[2 * i + j % 2]);
      const uint8_t* slice = weights_ + step / (kDepth / kStep) * kSliceBytes;
      const int at = step % (kDepth / kStep) * 2;
#pragma unroll
      for (int j = 0; j < kColumns / 16; ++j) {
        uint32_t b[4];
        load_matrices(
            b, slice + swizzled<kDepth>(j * 16 + matrix / 2 * 8 + in_matrix, at + matrix % 2));
#pragma unroll
        for (int i = 0; i < kRowBlocks; ++i) {
          multiply_add_bytes<Data, int8_t>(sums.values[i][2 * j], a[i], b[0], b[1]);
          multiply_add_bytes<Data, int8_t>(sums.values[i][2 * j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }

  __device__ int first_column() const { return first_column_; }

 private:
  const QuantizedGemm& p_;
  const Dividers& dividers_;
  const Lines& l_;
  uint8_t* weights_;
  uint8_t* data_;
  int buffer_bytes_, first_column_;
};

// Blocks make several tiles of the same output channels.
template <class Data>
__global__ void __launch_bounds__(kThreads)
    multiply(const __grid_constant__ QuantizedGemm p, const __grid_constant__ Dividers dividers,
             const __grid_constant__ Lines lines, int64_t rows) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ __align__(16) ChannelTable<kColumns> table;
  const Block<Data> block(p, dividers, lines, shared);
  block.load_weights();
  table.fill(p, block.first_column(), static_cast<int>(threadIdx.x), kThreads);
  const int64_t step = int64_t{gridDim.x} * kRows;
  const auto load = [&](int64_t first_row, int buffer) {
    if (first_row < rows) block.load_data(first_row, rows, buffer);
    end_group();
  };
  int buffer = 0;
  load(int64_t{blockIdx.x} * kRows, buffer);
  for (int64_t first_row = int64_t{blockIdx.x} * kRows; first_row < rows; first_row += step) {
    wait_for_groups<0>();
    __syncthreads();  // the lines are there, and those of the tile before may be overwritten
    const int other = lines.buffers - 1 - buffer;
    if (lines.buffers > 1) load(first_row + step, other);
    WarpSums<kRowBlocks, 1> sums = {};
    block.multiply(first_row, rows, buffer, sums);
    if (lines.buffers == 1) {
      __syncthreads();
      load(first_row + step, other);
    }
    buffer = other;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    store_sums<int32_t>(
        p, sums, rows, block.first_column(), 0,
        [&](int i) { return first_row + warp * kWarpRows + i * 16; }, table,
        [&](const LaneUnit& unit, LaneBytes& bytes) { load_addends(p, unit, bytes); });
  }
#endif
}

}  // namespace

bool launch_quantized_gemm_of_lines(const QuantizedGemm& p, cudaStream_t stream) {
  constexpr int64_t kMaxBytes = 96 << 10;  // which all GPUs with tensor cores of bytes have
  Lines lines(p);
  const int64_t weights = QuantizedGemm::weights_bytes(kColumns, p.depth());
  if (weights + 2 * lines.bytes(p) <= kMaxBytes) lines.buffers = 2;
  const int64_t bytes = weights + lines.bytes(p);
  constexpr unsigned kMaxAcross = 65535;
  const Tiles tiles(p, kRows, kColumns);
  if (bytes > kMaxBytes || tiles.across > kMaxAcross) return false;
  const auto kernel = p.data_is_signed ? multiply<int8_t> : multiply<uint8_t>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMaxBytes);
  int at_once = 1;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, kThreads,
                                                static_cast<size_t>(bytes));
  const int64_t across = tiles.across;
  const int64_t down =
      std::min(tiles.down, std::max<int64_t>(int64_t{multiprocessors()} * at_once / across, 1));
  const dim3 grid(static_cast<unsigned>(down), tiles.across);
  kernel<<<grid, kThreads, static_cast<size_t>(bytes), stream>>>(p, Dividers(p), lines, tiles.rows);
  return true;
}

}  // namespace tenon::cuda
