#include <type_traits>

#include "cuda/integer_product.h"
#include "cuda/tensor_cores.cuh"

namespace tenon::cuda {
namespace {

using Parameters = IntegerProductParameters;

constexpr int kTile = 64;               // rows and columns of a block
constexpr int kDepth = 64;              // summed at a time
constexpr int kThreads = 128;           // four warps, each of 32 rows and 32 columns
constexpr int kStep = kDepth + 16;      // bytes between rows in shared memory
constexpr uint32_t kOnes = 0x01010101;  // four ones

// Four neighbours of a row from `at` on; zeros beyond `count`.
__device__ uint32_t read_4(const uint8_t* row, int64_t at, int64_t count) {
  if (at + 4 <= count && reinterpret_cast<uintptr_t>(row + at) % 4 == 0)
    return *reinterpret_cast<const uint32_t*>(row + at);
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    if (at + i < count) word |= uint32_t{row[at + i]} << (8 * i);
  return word;
}

__device__ int32_t whole(const QuantizedEpilogue::List& list, DataType type, int64_t i) {
  if (list.data == nullptr) return 0;
  const int64_t at = i * list.step;
  if (type == DataType::kINT8) return static_cast<const int8_t*>(list.data)[at];
  if (type == DataType::kUINT8) return static_cast<const uint8_t*>(list.data)[at];
  return static_cast<const int32_t*>(list.data)[at];
}

// Rows [first, first + kTile) of `data`, elements [k, k + kDepth).
__device__ void load_data(const Parameters& p, const uint8_t* data, int64_t first, int64_t k,
                          uint8_t (*tile)[kStep]) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth / 4; i += kThreads) {
    const int row = i / (kDepth / 4), at = i % (kDepth / 4) * 4;
    uint32_t word = 0;
    if (first + row < p.rows) word = read_4(data + (first + row) * p.depth, k + at, p.depth);
    *reinterpret_cast<uint32_t*>(&tile[row][at]) = word;
  }
}

// Columns [first, first + kTile) of `weights`, each as a row of elements [k, k + kDepth).
__device__ void load_weights(const Parameters& p, const uint8_t* weights, int64_t first, int64_t k,
                             uint8_t (*tile)[kStep]) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth / 16; i += kThreads) {
    const int column = i % (kTile / 4) * 4, at = i / (kTile / 4) * 4;
    uint32_t rows[4];
    for (int r = 0; r < 4; ++r)
      rows[r] = k + at + r < p.depth
                    ? read_4(weights + (k + at + r) * p.columns, first + column, p.columns)
                    : 0;
    // The bytes of four words are transposed, 4 x 4.
    const uint32_t low01 = __byte_perm(rows[0], rows[1], 0x5140);
    const uint32_t high01 = __byte_perm(rows[0], rows[1], 0x7362);
    const uint32_t low23 = __byte_perm(rows[2], rows[3], 0x5140);
    const uint32_t high23 = __byte_perm(rows[2], rows[3], 0x7362);
    const uint32_t columns[4] = {
        __byte_perm(low01, low23, 0x5410), __byte_perm(low01, low23, 0x7632),
        __byte_perm(high01, high23, 0x5410), __byte_perm(high01, high23, 0x7632)};
    for (int c = 0; c < 4; ++c) *reinterpret_cast<uint32_t*>(&tile[column + c][at]) = columns[c];
  }
}

template <class A, class B> __global__ void multiply(Parameters p) {
#if __CUDA_ARCH__ >= 800  // older GPUs lack the instruction, and it is not launched there
  __shared__ __align__(16) uint8_t data_tile[kTile][kStep], weights_tile[kTile][kStep];
  int64_t rest = blockIdx.z, data_at = 0, weights_at = 0;
  for (int axis = p.axes - 1; axis >= 0; --axis) {
    data_at += rest % p.extents[axis] * p.data_steps[axis];
    weights_at += rest % p.extents[axis] * p.weights_steps[axis];
    rest /= p.extents[axis];
  }
  const auto* data = static_cast<const uint8_t*>(p.data) + data_at * p.rows * p.depth;
  const auto* weights = static_cast<const uint8_t*>(p.weights) + weights_at * p.depth * p.columns;
  const int64_t first_row = blockIdx.y * int64_t{kTile}, first_column = blockIdx.x * int64_t{kTile};
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int group = lane / 4, quad = lane % 4;
  const int own_row = warp / 2 * 32, own_column = warp % 2 * 32;

  // Sums of products, and the sums of the data's rows and the weights' columns, which zero points
  // multiply: they come from products with ones.
  int32_t sum[2][4][4] = {}, row_sum[2][4] = {}, column_sum[4][4] = {};
  const uint32_t one_rows[4] = {kOnes, kOnes, kOnes, kOnes};
  for (int64_t k = 0; k < p.depth; k += kDepth) {
    __syncthreads();
    load_data(p, data, first_row, k, data_tile);
    load_weights(p, weights, first_column, k, weights_tile);
    __syncthreads();
#pragma unroll
    for (int part = 0; part < kDepth; part += 32) {
      uint32_t a[2][4], b[4][2];
      const auto word = [&](uint8_t(*tile)[kStep], int row, int at) {
        return *reinterpret_cast<const uint32_t*>(&tile[row][part + at]);
      };
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          a[m][i] = word(data_tile, own_row + m * 16 + group + i % 2 * 8, quad * 4 + i / 2 * 16);
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          b[n][i] = word(weights_tile, own_column + n * 8 + group, quad * 4 + i * 16);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        multiply_add_bytes<A, uint8_t>(row_sum[m], a[m], kOnes, kOnes);
#pragma unroll
        for (int n = 0; n < 4; ++n) multiply_add_bytes<A, B>(sum[m][n], a[m], b[n][0], b[n][1]);
      }
#pragma unroll
      for (int n = 0; n < 4; ++n)
        multiply_add_bytes<uint8_t, B>(column_sum[n], one_rows, b[n][0], b[n][1]);
    }
  }
  const auto data_zero = static_cast<uint32_t>(whole(p.data_zero, p.data_type, 0));
#pragma unroll
  for (int n = 0; n < 4; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t column = first_column + own_column + n * 8 + quad * 2 + i % 2;
      if (column >= p.columns) continue;
      const auto zero = static_cast<uint32_t>(whole(p.weights_zero, p.weights_type, column));
      const uint32_t constant = static_cast<uint32_t>(whole(p.bias, DataType::kINT32, column))
                                - data_zero * static_cast<uint32_t>(column_sum[n][i])
                                + static_cast<uint32_t>(p.depth) * data_zero * zero;
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int64_t row = first_row + own_row + m * 16 + group + i / 2 * 8;
        if (row >= p.rows) continue;
        const uint32_t all = static_cast<uint32_t>(sum[m][n][i]) + constant
                             - zero * static_cast<uint32_t>(row_sum[m][i]);
        store_result(p.epilogue, static_cast<int32_t>(all), column, p.result,
                     (blockIdx.z * p.rows + row) * p.columns + column);
      }
    }
#endif
}

template <class A, class B> void launch(const Parameters& p, cudaStream_t stream) {
  const auto tiles = [](int64_t extent) {
    return static_cast<unsigned>((extent + kTile - 1) / kTile);
  };
  const dim3 grid(tiles(p.columns), tiles(p.rows), static_cast<unsigned>(p.batch));
  multiply<A, B><<<grid, kThreads, 0, stream>>>(p);
}

}  // namespace

void launch_integer_product(const IntegerProductParameters& p, cudaStream_t stream) {
  if (p.batch * p.rows * p.columns == 0) return;
  if (p.data_type == DataType::kINT8)
    p.weights_type == DataType::kINT8 ? launch<int8_t, int8_t>(p, stream)
                                      : launch<int8_t, uint8_t>(p, stream);
  else
    p.weights_type == DataType::kINT8 ? launch<uint8_t, int8_t>(p, stream)
                                      : launch<uint8_t, uint8_t>(p, stream);
}

}  // namespace tenon::cuda
