#include "cuda/pointwise/element_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/nvrtc/prelude.h"

namespace tenon::cuda {
namespace {

constexpr const char* kNibble = "Nibble";

// Bits of an element in memory.
int bits_of_element(const std::string& type) {
  if (type == kNibble) return 4;
  if (type == "Half" || type == "BFloat16" || type == "Bits16") return 16;
  if (type == "Float" || type == "Int32") return 32;
  return type == "Int64" ? 64 : 8;
}

constexpr const char* kParameters = R"cuda(
struct Operand { void* data; int64 step; int64 stride[8]; };
struct Parameters {
  uint32 vectors, rank;
  int64 elements;
  Axis axes[8];
  Operand operand[kOperands];
};

// Where vector n begins in each operand.
__device__ __forceinline__ void locate(const Parameters& p, uint32 n, int64* at) {
#pragma unroll
  for (int k = 0; k < kOperands; ++k) at[k] = 0;
#pragma unroll 1
  for (int a = p.rank - 1; a > 0; --a) {
    const uint32 next = quotient(n, p.axes[a]);
    const uint32 i = n - next * p.axes[a].extent;
    n = next;
#pragma unroll
    for (int k = 0; k < kOperands; ++k) at[k] += i * p.operand[k].stride[a];
  }
#pragma unroll
  for (int k = 0; k < kOperands; ++k) at[k] += n * p.operand[k].stride[0];
}
)cuda";

// `vectors` moves kWidth elements at a time; the last ones may be fewer, one by one.
constexpr const char* kVectors = R"cuda(
extern "C" __global__ void __launch_bounds__(kThreads) vectors(const __grid_constant__ Parameters p) {
  const uint32 n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= p.vectors) return;
  int64 at[kOperands];
  locate(p, n, at);
  const int64 left = p.elements - static_cast<int64>(n) * kWidth;
  if (left >= kWidth) {
    compute<kWidth>(p, at);
    return;
  }
  for (int i = 0; i < left; ++i) {
    compute<1>(p, at);
#pragma unroll
    for (int k = 0; k < kOperands; ++k) at[k] += p.operand[k].step;
  }
}
)cuda";

constexpr const char* kElements = R"cuda(
extern "C" __global__ void __launch_bounds__(kThreads) elements(const __grid_constant__ Parameters p) {
  const uint32 n = blockIdx.x * kThreads + threadIdx.x;
  if (n >= p.vectors) return;
  int64 at[kOperands];
  locate(p, n, at);
  compute<1>(p, at);
}
)cuda";

// Two elements that share a byte may lie in different rows, so each finds its own operands.
constexpr const char* kPairs = R"cuda(
__device__ __forceinline__ void pair(const Parameters& p, uint32 n, int used) {
  int64 at[kOperands];
  locate(p, n, at);
  const int64 first = at[0];
  uint8 to[2] = {0, 0};
  values<1>(p, at, to);
  if (used > 1) {
    locate(p, n + 1, at);
    values<1>(p, at, to + 1);
  }
  Memory<Nibble, 2>::write(p.operand[0].data, first, to);
}
extern "C" __global__ void __launch_bounds__(kThreads) elements(const __grid_constant__ Parameters p) {
  const uint32 n = (blockIdx.x * kThreads + threadIdx.x) * 2;
  if (n < p.vectors) pair(p, n, p.vectors - n);
}
)cuda";

// `values` and `compute` of N results that begin at the offsets `at` of the operands.
std::string computation(const ElementFunction& f) {
  std::string parameters, reads, arguments;
  for (size_t k = 0; k < f.operands.size(); ++k) {
    const auto& [input, type] = f.operands[k];
    const char* comma = k == 0 ? "" : ", ";
    parameters += fmt::format("{}{}::Value x{}", comma, type, input);
    reads += fmt::format(
        "  {1}::Value v{0}[N];\n"
        "  Memory<{1}, N>::read(p.operand[{2}].data, at[{2}], p.operand[{2}].step == 0, v{0});\n",
        input, type, k + 1);
    arguments += fmt::format("{}v{}[i]", comma, input);
  }
  return fmt::format(
      "using Result = {0};\n"
      "__device__ __forceinline__ Result::Value result({1}) {{\n{2}  return {3};\n}}\n"
      "template <int N> __device__ __forceinline__ void values(const Parameters& p, const int64* "
      "at, Result::Value* to) {{\n{4}"
      "#pragma unroll\n"
      "  for (int i = 0; i < N; ++i) to[i] = result({5});\n}}\n"
      "template <int N> __device__ __forceinline__ void compute(const Parameters& p, const int64* "
      "at) {{\n"
      "  Result::Value to[N];\n  values<N>(p, at, to);\n"
      "  Memory<Result, N>::write(p.operand[0].data, at[0], to);\n}}\n",
      f.result_type, parameters, f.statements, f.result, reads, arguments);
}

}  // namespace

int vector_width(const ElementFunction& f) {
  int smallest = bits_of_element(f.result_type), largest = smallest;
  for (const auto& x : f.operands) {
    smallest = std::min(smallest, bits_of_element(x.type));
    largest = std::max(largest, bits_of_element(x.type));
  }
  constexpr int kVector = 128, kMaxBits = 256;  // bits; the most that a thread reads of one operand
  return std::min(kVector / smallest, kMaxBits / largest);
}

std::string element_source(const ElementFunction& f) {
  return fmt::format("{}constexpr int kOperands = {}, kWidth = {};\n{}{}{}{}", prelude(),
                     f.operands.size() + 1, vector_width(f), kParameters, computation(f), kVectors,
                     f.result_type == kNibble ? kPairs : kElements);
}

}  // namespace tenon::cuda
