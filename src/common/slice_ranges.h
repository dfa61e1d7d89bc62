// Where a slice begins and how it steps, from attributes or from inputs that are read when it runs.
#pragma once

#include "backend/target.h"
#include "ops/slice.h"

namespace tenon {

/// Start and step along each axis of the data.
struct SliceRange {
  Shape start, step;
};

/// Reads them for certain shapes; the inputs' elements are on the host. Keeps a reference to `op`.
class SliceRanges {
 public:
  SliceRanges(const Slice& op, std::span<const TensorSpec> inputs, const TensorSpec& output);

  /// Throws for axes, starts or steps that do not fit, and without a SampleMode that allows it for
  /// samples outside of the data.
  SliceRange read(const RunArguments& arguments) const;

 private:
  int64_t entry(const RunArguments& arguments, size_t input, const Shape& attribute,
                int64_t i) const;
  void check(const SliceRange& range, int axis) const;

  const Slice& op_;
  Shape in_, out_;
  static constexpr size_t kInputs = 6;
  bool present_[kInputs] = {}, is_wide_[kInputs] = {};
  int64_t count_[kInputs] = {};
};

}  // namespace tenon
