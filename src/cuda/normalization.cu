#include "cuda/elements.cuh"
#include "cuda/groups.cuh"
#include "cuda/normalization.h"
#include "cuda/normalization_in_turn.cuh"

namespace tenon::cuda {
namespace {

using Task = NormalizationTask;
using Parameter = Task::Parameter;

__device__ float element(const Parameter& p, int64_t offset, float otherwise) {
  if (p.data == nullptr) return otherwise;
  if (p.type == DataType::kFLOAT) return static_cast<const float*>(p.data)[offset];
  if (p.type == DataType::kHALF) return to_float(static_cast<const __half*>(p.data)[offset]);
  return to_float(static_cast<const __nv_bfloat16*>(p.data)[offset]);
}

__device__ int64_t offset(const Task::ParameterOffsets& offsets, int64_t i) {
  return offsets.step == 0 ? 0 : i / offsets.run % offsets.period * offsets.step;
}

__device__ void keep_statistics(const Task& t, int64_t row, float mean, float inverse) {
  if (t.mean == nullptr) return;
  t.mean[row] = mean;
  t.inverse_deviation[row] = inverse;
}

// kCount neighbours of a parameter, as one where they lie so.
template <class T, int kCount>
__device__ void elements(const Parameter& p, int64_t base, int64_t i, int64_t length,
                         float otherwise, float (&values)[kCount]) {
  constexpr DataType kType = sizeof(T) == 4              ? DataType::kFLOAT
                             : std::is_same_v<T, __half> ? DataType::kHALF
                                                         : DataType::kBF16;
  const T* at = static_cast<const T*>(p.data) + base + i;
  if (p.data != nullptr && p.type == kType && p.elements.step == 1 && p.elements.run == 1
      && p.elements.period == length
      && reinterpret_cast<uintptr_t>(at) % sizeof(Pack<T, kCount>) == 0) {
    const auto pack = *reinterpret_cast<const Pack<T, kCount>*>(at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) values[k] = to_float(pack.values[k]);
    return;
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k)
    values[k] = element(p, base + offset(p.elements, i + k), otherwise);
}

// The sum over the kThreads threads that share a row: a warp, or the whole block.
template <int kThreads> __device__ float row_sum(float x) {
  if constexpr (kThreads == 32)
    return warp_sum(x);
  else
    return block_sum<kThreads>(x);
}

// Rows that the registers of kThreads threads hold: the data is read once. kThreads 32: the block
// has a row for each warp (along y).
template <class T, int kThreads, int kItems> __global__ void rows_in_registers(Task t) {
  constexpr int kPack = 16 / sizeof(T);
  using Elements = Pack<T, kPack>;
  const int64_t row = blockIdx.x * int64_t{blockDim.y} + threadIdx.y;
  if (row >= t.rows) return;
  const auto* from =
      reinterpret_cast<const Elements*>(static_cast<const T*>(t.data) + row * t.length);
  auto* to = reinterpret_cast<Elements*>(static_cast<T*>(t.result) + row * t.length);
  const auto* addend =
      t.addend == nullptr
          ? nullptr
          : reinterpret_cast<const Elements*>(static_cast<const T*>(t.addend) + row * t.length);
  const int packs = static_cast<int>(t.length / kPack);
  float x[kItems][kPack];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kThreads;
    const bool is_inside = at < packs;
    Elements e, other;
    if (is_inside) e = from[at];
    if (is_inside && addend != nullptr) other = addend[at];
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      x[i][k] = is_inside ? to_float(e.values[k]) : 0.f;
      if (is_inside && addend != nullptr) x[i][k] += to_float(other.values[k]);
      sum += x[i][k];
    }
  }
  const auto length = static_cast<float>(t.length);
  const float mean = t.subtracts_mean ? row_sum<kThreads>(sum) / length : 0.f;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const bool is_inside = static_cast<int>(threadIdx.x) + i * kThreads < packs;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const float d = is_inside ? x[i][k] - mean : 0.f;
      squares += d * d;
    }
  }
  const float inverse = rsqrtf(row_sum<kThreads>(squares) / length + t.epsilon);
  if (threadIdx.x == 0) keep_statistics(t, row, mean, inverse);
  const int64_t scale_row = offset(t.scale.rows, row), bias_row = offset(t.bias.rows, row);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int at = static_cast<int>(threadIdx.x) + i * kThreads;
    if (at >= packs) break;
    float scale[kPack], bias[kPack];
    elements<T>(t.scale, scale_row, int64_t{at} * kPack, t.length, 1.f, scale);
    elements<T>(t.bias, bias_row, int64_t{at} * kPack, t.length, 0.f, bias);
    Elements e;
#pragma unroll
    for (int k = 0; k < kPack; ++k)
      e.values[k] = from_float<T>((x[i][k] - mean) * inverse * scale[k] + bias[k]);
    to[at] = e;
    if (t.bytes.data == nullptr) continue;
    const Quantized quantized(t.bytes.rule);
    Pack<uint8_t, kPack> bytes;
#pragma unroll
    for (int k = 0; k < kPack; ++k) bytes.values[k] = quantized(to_float(e.values[k]));
    *reinterpret_cast<Pack<uint8_t, kPack>*>(t.bytes.data + row * t.length + int64_t{at} * kPack) =
        bytes;
  }
}

constexpr int kBlock = 512;

// A block for each mean, over elements that `at` finds; the data is read three times.
template <class T, class At> __device__ void normalize(const Task& t, int64_t row, const At& at) {
  const T* data = static_cast<const T*>(t.data);
  T* result = static_cast<T*>(t.result);
  const T* addend = static_cast<const T*>(t.addend);
  const auto number = [&](int64_t offset) {
    const float x = to_float(data[offset]);
    return addend == nullptr ? x : x + to_float(addend[offset]);
  };
  const auto length = static_cast<float>(t.length);
  float mean = 0;
  if (t.subtracts_mean) {
    float sum = 0;
    for (int64_t i = threadIdx.x; i < t.length; i += kBlock) sum += number(at.data(i));
    mean = block_sum<kBlock>(sum) / length;
  }
  float squares = 0;
  for (int64_t i = threadIdx.x; i < t.length; i += kBlock) {
    const float d = number(at.data(i)) - mean;
    squares += d * d;
  }
  const float inverse = rsqrtf(block_sum<kBlock>(squares) / length + t.epsilon);
  if (threadIdx.x == 0) keep_statistics(t, row, mean, inverse);
  for (int64_t i = threadIdx.x; i < t.length; i += kBlock) {
    const int64_t offset = at.data(i);
    const float scale = element(t.scale, at.scale(i), 1.f);
    const float bias = element(t.bias, at.bias(i), 0.f);
    const T y = from_float<T>((number(offset) - mean) * inverse * scale + bias);
    result[offset] = y;
    if (t.bytes.data != nullptr) t.bytes.data[offset] = Quantized(t.bytes.rule)(to_float(y));
  }
}

struct RowElements {
  const Task& t;
  int64_t row;
  __device__ int64_t data(int64_t i) const { return row * t.length + i; }
  __device__ int64_t scale(int64_t i) const {
    return offset(t.scale.rows, row) + offset(t.scale.elements, i);
  }
  __device__ int64_t bias(int64_t i) const {
    return offset(t.bias.rows, row) + offset(t.bias.elements, i);
  }
};

struct AxesElements {
  const Task& t;
  int64_t row;
  __device__ int64_t along(const int64_t* steps, int64_t i) const {
    int64_t sum = 0, rest = i;
    for (int axis = t.axes - 1; axis >= t.kept; --axis) {
      sum += rest % t.extents[axis] * steps[axis];
      rest /= t.extents[axis];
    }
    rest = row;
    for (int axis = t.kept - 1; axis >= 0; --axis) {
      sum += rest % t.extents[axis] * steps[axis];
      rest /= t.extents[axis];
    }
    return sum;
  }
  __device__ int64_t data(int64_t i) const { return along(t.steps, i); }
  __device__ int64_t scale(int64_t i) const { return along(t.scale.steps, i); }
  __device__ int64_t bias(int64_t i) const { return along(t.bias.steps, i); }
};

template <class T, class At> __global__ void blocks(Task t) {
  for (int64_t row = blockIdx.x; row < t.rows; row += gridDim.x) normalize<T>(t, row, At{t, row});
}

template <class T, int kThreads, int kItems> void launch_rows(const Task& t, cudaStream_t stream) {
  constexpr int kRows = kThreads == 32 ? 4 : 1;
  rows_in_registers<T, kThreads, kItems>
      <<<static_cast<unsigned>((t.rows + kRows - 1) / kRows), dim3(kThreads, kRows), 0, stream>>>(
          t);
}

// False where the rows are too long or not aligned.
template <class T> bool launch_in_registers(const Task& t, cudaStream_t stream) {
  constexpr int kPack = 16 / sizeof(T);
  if (!t.in_rows || t.length % kPack != 0 || t.rows > INT32_MAX || !is_multiple(t.data, 16)
      || !is_multiple(t.result, 16) || !is_multiple(t.addend, 16)
      || !is_multiple(t.bytes.data, kPack))
    return false;
  const int64_t packs = t.length / kPack;
  if (packs <= 32)
    launch_rows<T, 32, 1>(t, stream);
  else if (packs <= 64)
    launch_rows<T, 32, 2>(t, stream);
  else if (packs <= 96)
    launch_rows<T, 32, 3>(t, stream);
  else if (packs <= 128)
    launch_rows<T, 32, 4>(t, stream);
  else if (packs <= 256)
    launch_rows<T, 128, 2>(t, stream);
  else if (packs <= 512)
    launch_rows<T, 128, 4>(t, stream);
  else if (packs <= 2048)
    launch_rows<T, 512, 4>(t, stream);
  else
    return false;
  return true;
}

}  // namespace

void launch_normalization(const Task& t, cudaStream_t stream) {
  if (t.rows * t.length == 0) return;
  with_device_float(t.type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (sizeof(T) == 2)
      if (launch_in_turn<T>(t, stream)) return;
    if (launch_in_registers<T>(t, stream)) return;
    const auto grid = static_cast<unsigned>(t.rows < (1 << 20) ? t.rows : 1 << 20);
    if (t.in_rows)
      blocks<T, RowElements><<<grid, kBlock, 0, stream>>>(t);
    else
      blocks<T, AxesElements><<<grid, kBlock, 0, stream>>>(t);
  });
}

}  // namespace tenon::cuda
