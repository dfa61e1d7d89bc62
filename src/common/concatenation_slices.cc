#include "common/concatenation_slices.h"

#include "base/error.h"
#include "common/physical.h"

namespace tenon {
namespace {

// Where an axis of the tensor is among those of the layout.
int physical_axis(int axis, int rank, Layout layout) {
  if (layout != Layout::kChannelsLast || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

}  // namespace

bool ConcatenationSlices::is_in_place(size_t input, const RunArguments& arguments) const {
  return arguments.inputs[input]
         == static_cast<const std::byte*>(arguments.outputs[0]) + slices[input].offset;
}

bool ConcatenationSlices::are_in_place(const RunArguments& arguments) const {
  for (size_t i = 0; i < slices.size(); ++i)
    if (!is_in_place(i, arguments)) return false;
  return true;
}

ConcatenationSlices slices_of(int axis, std::span<const TensorSpec> inputs,
                              const TensorSpec& output) {
  const Shape extents = physical_extents(output.shape, output.layout);
  const int split = physical_axis(axis, output.shape.rank(), output.layout);
  const auto inner =
      static_cast<int64_t>(bytes_of(output.type, extents.volume(split + 1, extents.rank())));
  ConcatenationSlices all{extents.volume(0, split), 0, {}};
  for (const TensorSpec& in : inputs) {
    const Shape own = physical_extents(in.shape, in.layout);
    all.slices.push_back({own[split] * inner, all.row});
    all.row += all.slices.back().bytes;
  }
  require(all.row == extents[split] * inner, "the inputs of a concatenation do not add up to {}",
          output.shape);
  return all;
}

}  // namespace tenon
