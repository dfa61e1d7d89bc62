// Tools of the reference kernels: element types, broadcasting, copies.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "base/parallel.h"
#include "base/tensor.h"

namespace tenon {

/// Calls body(T{}) with the C++ type of the elements; throws for types narrower than a byte and
/// fp8.
template <class Body> decltype(auto) with_type(DataType type, Body&& body) {
  switch (type) {
    case DataType::kFLOAT:
      return body(float{});
    case DataType::kHALF:
      return body(Half{});
    case DataType::kBF16:
      return body(BFloat16{});
    case DataType::kINT32:
      return body(int32_t{});
    case DataType::kINT64:
      return body(int64_t{});
    case DataType::kINT8:
      return body(int8_t{});
    case DataType::kUINT8:
      return body(uint8_t{});
    case DataType::kBOOL:
      return body(bool{});
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "elements of type {} are not supported yet",
           name_of(type));
  }
}

/// The same for float32, float16 and bfloat16 only.
template <class Body> decltype(auto) with_float(DataType type, Body&& body) {
  switch (type) {
    case DataType::kFLOAT:
      return body(float{});
    case DataType::kHALF:
      return body(Half{});
    case DataType::kBF16:
      return body(BFloat16{});
    default:
      fail(ErrorCode::kINVALID_ARGUMENT, "expected floating-point elements, found {}",
           name_of(type));
  }
}

template <class T>
inline constexpr bool is_real =
    std::is_same_v<T, float> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// What arithmetic on elements of type T is done in.
template <class T> using Compute = std::conditional_t<is_real<T>, float, int64_t>;

template <class T> Compute<T> load(T x) {
  return static_cast<Compute<T>>(x);
}

/// Float64, which is no type of tensors: their bits are.
inline double load(double x) {
  return x;
}

/// Rounds to a float type; wraps to an integer type.
template <class T, class From> T store(From x) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

/// The elements as float, without a copy when they are.
class Floats {
 public:
  explicit Floats(const TensorView& view);
  const float* data() const { return data_; }
  float operator[](int64_t i) const { return data_[i]; }

 private:
  std::vector<float> converted_;
  const float* data_;
};

/// Elements of an int32 or int64 tensor.
std::vector<int64_t> read_integers(const TensorView& view);

/// Steps through a tensor of shape `from` while walking one of shape `to` (axes aligned at the end,
/// 0 where an extent is repeated). Throws when `from` does not broadcast to `to`.
Shape broadcast_strides(const Shape& from, const Shape& to);

/// A run along the last axis of a result: where it begins there and in each operand.
struct Row {
  int64_t begin, length;
  const int64_t* offset;  // per operand
  const int64_t* step;    // per operand
};

/// Calls body(row) for all rows of a result of shape `out`, in parallel.
template <class Body>
void for_rows(const Shape& out, std::span<const Shape> strides, const Body& body) {
  const int last = out.rank() - 1;
  const int64_t length = last < 0 ? 1 : out.back();
  const int64_t rows = last < 0 ? 1 : out.volume(0, last);
  if (length == 0) return;
  constexpr int64_t kElementsPerTask = 16384;
  parallel_for(rows, std::max<int64_t>(1, kElementsPerTask / length), [&](int64_t b, int64_t e) {
    std::vector<int64_t> offset(strides.size()), step(strides.size(), 0);
    for (size_t k = 0; k < strides.size() && last >= 0; ++k) step[k] = strides[k][last];
    for (int64_t row = b; row < e; ++row) {
      std::fill(offset.begin(), offset.end(), 0);
      int64_t rest = row;
      for (int axis = last - 1; axis >= 0; --axis) {
        const int64_t i = rest % out[axis];
        rest /= out[axis];
        for (size_t k = 0; k < strides.size(); ++k) offset[k] += i * strides[k][axis];
      }
      body(Row{row * length, length, offset.data(), step.data()});
    }
  });
}

/// For each axis of a result, the offset in the source that each of its positions adds; kOutside
/// stands for the fill element.
using OffsetTables = std::vector<std::vector<int64_t>>;
constexpr int64_t kOutside = -1;

/// offset[i] = i * stride for all axes.
OffsetTables offset_tables(const Shape& out, const Shape& strides);

/// Copies elements of `bytes` bytes (1, 2, 4 or 8) from `source` to a dense result of shape `out`.
/// `fill` is one element, needed only where tables say kOutside.
void copy_indexed(size_t bytes, const Shape& out, const OffsetTables& tables, const void* source,
                  void* target, const void* fill = nullptr);

/// Bytes of one element; throws for types narrower than a byte.
size_t element_bytes(DataType type);

/// Copies `bytes` bytes, in parallel when they are many.
void copy_bytes(void* target, const void* source, size_t bytes);

/// Throws unless the output has that shape: a kernel was called with shapes that do not fit.
void require_output(const TensorView& output, const Shape& expected);

}  // namespace tenon
