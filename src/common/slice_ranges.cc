#include "common/slice_ranges.h"

#include <utility>

#include "base/error.h"

namespace tenon {

using nvinfer1::SampleMode;

SliceRanges::SliceRanges(const Slice& op, std::span<const TensorSpec> inputs,
                         const TensorSpec& output)
    : op_(op), in_(inputs[Slice::kData].shape), out_(output.shape) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    present_[i] = inputs[i].present;
    is_wide_[i] = inputs[i].type == DataType::kINT64;
    count_[i] = inputs[i].present ? inputs[i].shape.volume() : 0;
  }
  require(in_.rank() == out_.rank(), "a slice of {} does not give {}", in_, out_);
}

// Entry i of an input if it is there, else of the attribute.
int64_t SliceRanges::entry(const RunArguments& arguments, size_t input, const Shape& attribute,
                           int64_t i) const {
  const int64_t count = present_[input] ? count_[input] : attribute.rank();
  require(i < count, "input {} of a slice has {} entries, expected more than {}", input, count, i);
  if (!present_[input]) return attribute[static_cast<int>(i)];
  const void* data = arguments.inputs[input];
  return is_wide_[input] ? static_cast<const int64_t*>(data)[i]
                         : static_cast<const int32_t*>(data)[i];
}

// All samples of an axis are between the first and the last one.
void SliceRanges::check(const SliceRange& range, int axis) const {
  const int64_t start = range.start[axis], step = range.step[axis], extent = in_[axis];
  int64_t last = 0;
  const bool overflow = __builtin_mul_overflow(out_[axis] - 1, step, &last)
                        || __builtin_add_overflow(last, start, &last);
  if (op_.mode != SampleMode::kSTRICT_BOUNDS) {
    require(op_.mode == SampleMode::kFILL || extent > 0, "axis {}: nothing can be sampled", axis);
    require(!overflow, "axis {}: stride {} overflows", axis, step);
    return;
  }
  require(!overflow && std::min(start, last) >= 0 && std::max(start, last) < extent,
          "axis {}: sample {} lies outside [0, {})", axis,
          overflow || start < 0 || start >= extent ? start : last, extent);
}

SliceRange SliceRanges::read(const RunArguments& arguments) const {
  SliceRange range{Shape::filled(in_.rank(), 0), Shape::filled(in_.rank(), 1)};
  const bool all = !present_[Slice::kAxes] && op_.axes.rank() == 0;
  const int64_t count = all                      ? in_.rank()
                        : present_[Slice::kAxes] ? count_[Slice::kAxes]
                                                 : int64_t{op_.axes.rank()};
  bool seen[Shape::kMaxRank] = {};
  for (int64_t k = 0; k < count; ++k) {
    const int64_t named = all ? k : entry(arguments, Slice::kAxes, op_.axes, k);
    const int axis = normalized_axis(named, in_.rank());
    require(!std::exchange(seen[axis], true), "axis {} is sliced twice", axis);
    range.start[axis] = entry(arguments, Slice::kStart, op_.start, k);
    range.step[axis] = entry(arguments, Slice::kStride, op_.stride, k);
  }
  const bool is_empty = out_.volume() == 0;
  for (int axis = 0; axis < in_.rank(); ++axis) {
    require(seen[axis] || in_[axis] == out_[axis], "axis {}: expected extent {}, found {}", axis,
            in_[axis], out_[axis]);
    if (!is_empty) check(range, axis);
  }
  return range;
}

}  // namespace tenon
