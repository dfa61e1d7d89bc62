#include "cuda/reduce/sources.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cuda/nvrtc/prelude.h"

namespace tenon::cuda {
namespace {

constexpr const char* kCumulative = R"cuda(
struct Parameters {
  const void* in;
  void* out;
  int64 lines, length, inner;
};

__device__ __forceinline__ int64 begin_of(const Parameters& p, int64 line) {
  return line / p.inner * p.length * p.inner + line % p.inner;
}
__device__ __forceinline__ int64 position_of(const Parameters& p, int64 begin, int64 i) {
  return begin + (kReverse ? p.length - 1 - i : i) * p.inner;
}
// The element at a position, and what is known before it, become the sum so far.
__device__ __forceinline__ Sum step(const Parameters& p, int64 at, Sum before, Sum x) {
  const Sum after = combined(before, x);
  static_cast<T::Stored*>(p.out)[at] = T::store(static_cast<T::Value>(kExclusive ? before : after));
  return after;
}
__device__ __forceinline__ Sum element(const Parameters& p, int64 at) {
  return static_cast<Sum>(T::load(static_cast<const T::Stored*>(p.in)[at]));
}

extern "C" __global__ void __launch_bounds__(kThreads) threads(const __grid_constant__ Parameters p) {
  const int64 line = static_cast<int64>(blockIdx.x) * kThreads + threadIdx.x;
  if (line >= p.lines) return;
  const int64 begin = begin_of(p, line);
  Sum sum = kNeutral;
  for (int64 i = 0; i < p.length; ++i) {
    const int64 at = position_of(p, begin, i);
    sum = step(p, at, sum, element(p, at));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) blocks(const __grid_constant__ Parameters p) {
  constexpr int kEach = 4;
  __shared__ Sum totals[2][kThreads];
  const int64 begin = begin_of(p, blockIdx.x);
  const int thread = threadIdx.x;
  Sum carry = kNeutral;
  for (int64 chunk = 0; chunk < p.length; chunk += kThreads * kEach) {
    const int64 first = chunk + thread * kEach;
    Sum x[kEach], total = kNeutral;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      x[k] = first + k < p.length ? element(p, position_of(p, begin, first + k)) : kNeutral;
      total = combined(total, x[k]);
    }
    // The threads' totals, each with all before it, in two tables alternately.
    int now = 0;
    totals[0][thread] = total;
    __syncthreads();
    for (int distance = 1; distance < kThreads; distance *= 2) {
      Sum sum = totals[now][thread];
      if (thread >= distance) sum = combined(totals[now][thread - distance], sum);
      now = 1 - now;
      totals[now][thread] = sum;
      __syncthreads();
    }
    Sum before = thread == 0 ? carry : combined(carry, totals[now][thread - 1]);
#pragma unroll
    for (int k = 0; k < kEach; ++k)
      if (first + k < p.length) before = step(p, position_of(p, begin, first + k), before, x[k]);
    carry = combined(carry, totals[now][kThreads - 1]);
    __syncthreads();
  }
}
)cuda";

constexpr const char* kLrn = R"cuda(
struct Parameters {
  const void* in;
  void* out;
  uint32 elements, step;
  Axis by_step, by_channels;
};
extern "C" __global__ void __launch_bounds__(kThreads) lrn(const __grid_constant__ Parameters p) {
  const uint32 i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= p.elements) return;
  const auto* in = static_cast<const T::Stored*>(p.in) + i;
  const uint32 row = quotient(i, p.by_step);
  const int64 channels = p.by_channels.extent;
  const int64 channel = row - quotient(row, p.by_channels) * channels;
  const int64 low = channel < kBefore ? -channel : -kBefore;
  const int64 high = channels - 1 - channel < kAfter ? channels - 1 - channel : kAfter;
  float sum = 0;
  for (int64 c = low; c <= high; ++c) {
    const float x = T::load(in[c * p.step]);
    sum += x * x;
  }
  const float base = kBias + kFactor * sum;
  static_cast<T::Stored*>(p.out)[i] = T::store(T::load(*in) / divisor(base));
}
)cuda";

constexpr const char* kBlockScales = R"cuda(
struct Parameters {
  const void *in, *unit;
  void* scales;
  uint32 blocks, inside, rank, unused;  // inside: elements of a block
  Axis scale[8], block[8];
  int64 extent[8], stride[8];
};
extern "C" __global__ void __launch_bounds__(kThreads) scales(const __grid_constant__ Parameters p) {
  const uint32 n = (blockIdx.x * kThreads + threadIdx.x) / 32;
  if (n >= p.blocks) return;
  float largest = 0;
  for (uint32 m = threadIdx.x % 32; m < p.inside; m += 32) {
    uint32 blocks = n, elements = m;
    int64 at = 0;
    bool is_there = true;  // blocks at the ends may be parts
    for (int a = p.rank - 1; a >= 0; --a) {
      const uint32 block = quotient(blocks, p.scale[a]), element = quotient(elements, p.block[a]);
      const int64 i =
          static_cast<int64>(blocks - block * p.scale[a].extent) * p.block[a].extent
          + (elements - element * p.block[a].extent);
      is_there = is_there && i < p.extent[a];
      at += i * p.stride[a];
      blocks = block;
      elements = element;
    }
    if (is_there)
      largest = fmaxf(largest, fabsf(T::load(static_cast<const T::Stored*>(p.in)[at])));
  }
  for (int distance = 16; distance > 0; distance /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
  if (threadIdx.x % 32 == 0)
    static_cast<Scale::Stored*>(p.scales)[n] = Scale::store(stored(largest / kLimit / unit(p)));
}
)cuda";

std::string flag(bool value) {
  return value ? "true" : "false";
}

}  // namespace

std::string cumulative_source(const Cumulative& op, DataType type) {
  const bool is_product = op.operation == CumulativeKind::kProduct;
  return fmt::format(
      "{}using T = {};\nusing Sum = {};\n"
      "constexpr bool kReverse = {}, kExclusive = {};\n"
      "constexpr Sum kNeutral = {};\n"
      "__device__ __forceinline__ Sum combined(Sum a, Sum b) {{ return a {} b; }}\n{}",
      prelude(), element_of(type), is_float(type) ? "float" : "uint64", flag(op.reverse),
      flag(op.exclusive), is_product ? 1 : 0, is_product ? '*' : '+', kCumulative);
}

std::string lrn_source(const Lrn& op, DataType type) {
  // Almost every model has 0.75, where two roots are much faster than a power.
  const std::string divisor = op.beta == 0.75f ? "sqrtf(base) * sqrtf(sqrtf(base))"
                                               : fmt::format("powf(base, {})", literal(op.beta));
  return fmt::format(
      "{}using T = {};\n"
      "constexpr int64 kBefore = {}, kAfter = {};\n"
      "#define kBias {}\n#define kFactor {}\n"
      "__device__ __forceinline__ float divisor(float base) {{ return {}; }}\n{}",
      prelude(), element_of(type), (op.window - 1) / 2, op.window / 2, literal(op.bias),
      literal(op.alpha / static_cast<float>(op.window)), divisor, kLrn);
}

std::string block_scales_source(const DynamicQuantize& op, DataType type,
                                std::optional<DataType> unit_type) {
  const char* stored = op.scale_type == DataType::kFP8    ? "fp8_bits(x, true)"
                       : op.scale_type == DataType::kE8M0 ? "e8m0_bits(x, true, 0)"
                                                          : "x";
  const std::string unit = unit_type
                               ? fmt::format("{0}::load(*static_cast<const {0}::Stored*>(p.unit))",
                                             element_of(*unit_type))
                               : "1.f";
  const std::string_view scale = element_of(op.scale_type);
  // Parameters are declared before what reads them.
  std::string kernel = kBlockScales;
  const std::string unit_function = fmt::format(
      "__device__ __forceinline__ float unit(const Parameters& p) {{ return {}; }}\n", unit);
  kernel.insert(kernel.find("extern"), unit_function);
  return fmt::format(
      "{}using T = {};\nusing Scale = {};\n"
      "#define kLimit {}\n"
      "__device__ __forceinline__ Scale::Value stored(float x) {{ return {}; }}\n{}",
      prelude(), element_of(type), scale, literal(largest_number(op.to)), stored, kernel);
}

}  // namespace tenon::cuda
