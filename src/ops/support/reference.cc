#include "ops/support/reference.h"

#include <cstring>

#include "base/low_precision.h"

namespace tenon {
namespace {

void to_floats(const TensorView& view, float* to) {
  const int64_t count = view.shape.volume();
  if (is_low_precision(view.type)) {
    constexpr int64_t kPairsPerTask = 8192;
    parallel_for((count + 1) / 2, kPairsPerTask, [&](int64_t begin, int64_t end) {
      read_low_precision(view.type, view.data, 2 * begin, std::min(2 * end, count), to + 2 * begin);
    });
    return;
  }
  with_type(view.type, [&](auto zero) {
    const auto* from = view.as<decltype(zero)>();
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(load(from[i]));
  });
}

}  // namespace

Floats::Floats(const TensorView& view) : data_(nullptr) {
  if (view.data == nullptr) return;
  if (view.type == DataType::kFLOAT) {
    data_ = view.as<float>();
    return;
  }
  converted_.resize(static_cast<size_t>(view.shape.volume()));
  to_floats(view, converted_.data());
  data_ = converted_.data();
}

std::vector<int64_t> read_integers(const TensorView& view) {
  const auto count = view.shape.volume();
  if (view.type == DataType::kINT64) return {view.as<int64_t>(), view.as<int64_t>() + count};
  require(view.type == DataType::kINT32, "expected int32 or int64 elements, found {}",
          name_of(view.type));
  return {view.as<int32_t>(), view.as<int32_t>() + count};
}

Shape broadcast_strides(const Shape& from, const Shape& to) {
  require(from.rank() <= to.rank(), "shape {} does not broadcast to {}", from, to);
  const Shape strides = from.strides();
  Shape out = Shape::filled(to.rank(), 0);
  const int skipped = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    const int64_t extent = from[axis], wanted = to[skipped + axis];
    require(extent == wanted || extent == 1,
            "shape {} does not broadcast to {}: expected extent {} or 1 along axis {}, found {}",
            from, to, wanted, skipped + axis, extent);
    if (extent != 1) out[skipped + axis] = strides[axis];
  }
  return out;
}

OffsetTables offset_tables(const Shape& out, const Shape& strides) {
  OffsetTables tables(static_cast<size_t>(out.rank()));
  if (out.volume() == 0) return tables;  // an axis may be huge beside one of extent 0
  for (int axis = 0; axis < out.rank(); ++axis)
    for (int64_t i = 0; i < out[axis]; ++i)
      tables[static_cast<size_t>(axis)].push_back(i * strides[axis]);
  return tables;
}

namespace {

// Whether the positions of an axis are `run` elements apart, none outside.
bool is_dense(const std::vector<int64_t>& table, int64_t run) {
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i] == kOutside || table[i] != table[0] + static_cast<int64_t>(i) * run) return false;
  return true;
}

// Where a row begins in the source, a row being a position on the axes before `axes`.
int64_t base_of(const Shape& out, const OffsetTables& tables, int axes, int64_t row,
                int64_t start) {
  for (int axis = axes - 1; axis >= 0; --axis) {
    const int64_t step = tables[static_cast<size_t>(axis)][static_cast<size_t>(row % out[axis])];
    if (step == kOutside) return kOutside;
    row /= out[axis];
    start += step;
  }
  return start;
}

template <class T>
void copy_elements(const Shape& out, const OffsetTables& tables, const T* source, T* target,
                   const T* fill) {
  // The trailing axes that are dense in the source form runs that are copied whole.
  int outer = out.rank();
  int64_t run = 1;
  while (outer > 0 && is_dense(tables[static_cast<size_t>(outer - 1)], run)) run *= out[--outer];
  int64_t run_start = 0;
  for (int axis = outer; axis < out.rank(); ++axis)
    run_start += tables[static_cast<size_t>(axis)].front();
  // Otherwise the last axis that is not dense is walked by its table.
  const std::vector<int64_t> one{0};
  const auto& inner = outer > 0 ? tables[static_cast<size_t>(--outer)] : one;
  const auto length = static_cast<int64_t>(inner.size());
  constexpr int64_t kElementsPerTask = 32768;
  const int64_t grain = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, length * run));
  // Blocks of rows by elements of the inner axis: what lies far apart in the source is then read
  // while its neighbours, which the next rows want, are in the cache.
  constexpr int64_t kRows = 32, kInner = 8;
  parallel_for(out.volume(0, outer), grain, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kRows) {
      const int64_t rows = std::min(kRows, end - first);
      int64_t bases[kRows];
      for (int64_t r = 0; r < rows; ++r)
        bases[r] = base_of(out, tables, outer, first + r, run_start);
      for (int64_t block = 0; block < length; block += kInner)
        for (int64_t r = 0; r < rows; ++r) {
          T* to = target + ((first + r) * length + block) * run;
          for (int64_t i = block; i < std::min(block + kInner, length); ++i, to += run) {
            const int64_t step = inner[static_cast<size_t>(i)];
            if (bases[r] == kOutside || step == kOutside)
              std::fill_n(to, run, *fill);
            else if (run == 1)
              *to = source[bases[r] + step];
            else
              std::memcpy(to, source + bases[r] + step, static_cast<size_t>(run) * sizeof(T));
          }
        }
    }
  });
}

}  // namespace

void copy_indexed(size_t bytes, const Shape& out, const OffsetTables& tables, const void* source,
                  void* target, const void* fill) {
  if (out.volume() == 0) return;
  const auto copy = [&](auto zero) {
    using T = decltype(zero);
    copy_elements(out, tables, static_cast<const T*>(source), static_cast<T*>(target),
                  static_cast<const T*>(fill));
  };
  switch (bytes) {
    case 1:
      return copy(uint8_t{});
    case 2:
      return copy(uint16_t{});
    case 4:
      return copy(uint32_t{});
    case 8:
      return copy(uint64_t{});
    default:
      fail(ErrorCode::kINTERNAL_ERROR, "elements of {} bytes", bytes);
  }
}

size_t element_bytes(DataType type) {
  if (bits_of(type) < 8)
    fail(ErrorCode::kUNSUPPORTED_STATE, "elements of type {} are not supported yet", name_of(type));
  return static_cast<size_t>(bits_of(type) / 8);
}

void copy_bytes(void* target, const void* source, size_t bytes) {
  constexpr int64_t kBytesPerTask = 1 << 18;
  parallel_for(static_cast<int64_t>(bytes), kBytesPerTask, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<std::byte*>(target) + begin,
                static_cast<const std::byte*>(source) + begin, static_cast<size_t>(end - begin));
  });
}

void require_output(const TensorView& output, const Shape& expected) {
  require(output.shape == expected, "the inputs give an output of shape {}, but it has shape {}",
          expected, output.shape);
}

}  // namespace tenon
