#include "cuda/reduce/reduce_source.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cuda/nvrtc/prelude.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ReduceOperation;

bool is_real(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

std::string_view combined(ReduceOperation operation, bool real) {
  switch (operation) {
    case ReduceOperation::kPROD:
      return real ? "a * b" : "Total(uint64(a) * uint64(b))";
    case ReduceOperation::kMAX:
      return "b > a || b != b ? b : a";
    case ReduceOperation::kMIN:
      return "b < a || b != b ? b : a";
    default:
      return real ? "a + b" : "Total(uint64(a) + uint64(b))";
  }
}

// What an extreme of integers begins with: the type's other end.
std::string end_of(DataType type, bool highest) {
  switch (type) {
    case DataType::kINT8:
      return highest ? "127" : "-128";
    case DataType::kUINT8:
      return highest ? "255" : "0";
    case DataType::kINT32:
      return highest ? "2147483647" : "-2147483647 - 1";
    default:
      return highest ? "9223372036854775807ll" : "-9223372036854775807ll - 1";
  }
}

std::string neutral(ReduceOperation operation, DataType type) {
  const bool is_maximum = operation == ReduceOperation::kMAX;
  if (operation == ReduceOperation::kPROD) return "1";
  if (!is_maximum && operation != ReduceOperation::kMIN) return "0";
  if (is_real(type))
    return is_maximum ? "__uint_as_float(0xff800000u)" : "__uint_as_float(0x7f800000u)";
  return end_of(type, !is_maximum);
}

constexpr const char* kKernels = R"cuda(
struct Parameters {
  const void* in;
  void* out;
  Total* partial;
  int64 elements;
  uint32 results, kept_steps, steps, chunk, lanes, splits;
  Axes kept, reduced;
};

__device__ __forceinline__ void put(const Parameters& p, uint32 result, Total total) {
  if (p.partial != nullptr)
    p.partial[static_cast<int64>(blockIdx.y) * p.results + result] = total;
  else
    static_cast<T::Stored*>(p.out)[result] = T::store(finalized(total, p.elements));
}

// The N running totals of steps first, first + lanes, ... of the block's chunk.
template <int N>
__device__ __forceinline__ void gather(const Parameters& p, int64 base, uint32 first, Total* total) {
#pragma unroll
  for (int i = 0; i < N; ++i) total[i] = neutral();
  const uint32 begin = blockIdx.y * p.chunk;
  const uint32 end = p.steps - begin < p.chunk ? p.steps : begin + p.chunk;
#pragma unroll 2
  for (uint32 n = begin + first; n < end; n += p.lanes) {
    T::Value x[N];
    Memory<T, N>::read(p.in, base + offset_of(n, p.reduced), false, x);
#pragma unroll
    for (int i = 0; i < N; ++i) total[i] = combined(total[i], x[i]);
  }
}

// Neighbouring threads read neighbours that become one result.
template <int N> __device__ __forceinline__ void reduce_rows(const Parameters& p) {
  __shared__ Total shared[kThreads];
  const uint32 lane = threadIdx.x % p.lanes;
  const uint32 result = blockIdx.x * (kThreads / p.lanes) + threadIdx.x / p.lanes;
  Total total[N];
  gather<N>(p, result < p.results ? offset_of(result, p.kept) : 0, lane, total);
#pragma unroll
  for (int i = 1; i < N; ++i) total[0] = combined(total[0], total[i]);
  shared[threadIdx.x] = total[0];
  for (uint32 half = p.lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half)
      shared[threadIdx.x] = combined(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  if (lane == 0 && result < p.results) put(p, result, shared[threadIdx.x]);
}

// Neighbouring threads read neighbours that become neighbouring results.
template <int N> __device__ __forceinline__ void reduce_columns(const Parameters& p) {
  __shared__ Total shared[N][kThreads];
  const uint32 width = kThreads / p.lanes;
  const uint32 lane = threadIdx.x / width;
  const uint32 step = blockIdx.x * width + threadIdx.x % width;
  Total total[N];
  gather<N>(p, step < p.kept_steps ? offset_of(step, p.kept) : 0, lane, total);
#pragma unroll
  for (int i = 0; i < N; ++i) shared[i][threadIdx.x] = total[i];
  for (uint32 half = p.lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half)
#pragma unroll
      for (int i = 0; i < N; ++i)
        shared[i][threadIdx.x] =
            combined(shared[i][threadIdx.x], shared[i][threadIdx.x + half * width]);
  }
  if (lane == 0 && step < p.kept_steps)
#pragma unroll
    for (int i = 0; i < N; ++i) put(p, step * N + i, shared[i][threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(kThreads) rows(const __grid_constant__ Parameters p) {
  reduce_rows<kWidth>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads) columns(const __grid_constant__ Parameters p) {
  reduce_columns<kWidth>(p);
}
// A warp for each result.
extern "C" __global__ void __launch_bounds__(kThreads) finalize(const __grid_constant__ Parameters p) {
  const uint32 result = (blockIdx.x * kThreads + threadIdx.x) / 32;
  if (result >= p.results) return;
  Total total = neutral();
  for (uint32 i = threadIdx.x % 32; i < p.splits; i += 32)
    total = combined(total, p.partial[static_cast<int64>(i) * p.results + result]);
  for (int distance = 16; distance > 0; distance /= 2)
    total = combined(total, __shfl_xor_sync(0xffffffffu, total, distance));
  if (threadIdx.x % 32 == 0)
    static_cast<T::Stored*>(p.out)[result] = T::store(finalized(total, p.elements));
}
)cuda";

// Where a thread reads one element at a time anyway, they are those above.
constexpr const char* kSingle = R"cuda(
extern "C" __global__ void __launch_bounds__(kThreads) rows1(const __grid_constant__ Parameters p) {
  reduce_rows<1>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads) columns1(const __grid_constant__ Parameters p) {
  reduce_columns<1>(p);
}
)cuda";

}  // namespace

int reduce_width(DataType type) {
  return std::min(8, 128 / bits_of(type));
}

int partial_bytes(DataType type) {
  return is_real(type) ? 4 : 8;
}

std::string reduce_source(ReduceOperation operation, DataType type) {
  const bool real = is_real(type);
  std::string finalized = "total";
  if (operation == ReduceOperation::kAVG)
    finalized =
        real ? "total / static_cast<float>(elements)" : "elements == 0 ? 0 : total / elements";
  return fmt::format(
      "{}constexpr int kWidth = {};\n"
      "using T = {};\nusing Total = {};\n"
      "__device__ __forceinline__ Total neutral() {{ return {}; }}\n"
      "__device__ __forceinline__ Total combined(Total a, Total b) {{ return {}; }}\n"
      "__device__ __forceinline__ T::Value finalized(Total total, int64 elements) {{ return {}; "
      "}}\n"
      "{}{}",
      prelude(), reduce_width(type), element_of(type), real ? "float" : "int64",
      neutral(operation, type), combined(operation, real), finalized, kKernels, kSingle);
}

}  // namespace tenon::cuda
