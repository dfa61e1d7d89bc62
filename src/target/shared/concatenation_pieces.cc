#include "target/shared/concatenation_pieces.h"

#include "base/error.h"
#include "target/cpu/physical.h"

namespace tenon {
namespace {

// Where an axis of the tensor is among those of the layout.
int physical_axis(int axis, int rank, Layout layout) {
  if (layout != Layout::kChannelsLast || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

}  // namespace

bool ConcatenationPieces::is_in_place(size_t input, const RunArguments& arguments) const {
  return arguments.inputs[input]
         == static_cast<const std::byte*>(arguments.outputs[0]) + pieces[input].offset;
}

bool ConcatenationPieces::are_in_place(const RunArguments& arguments) const {
  for (size_t i = 0; i < pieces.size(); ++i)
    if (!is_in_place(i, arguments)) return false;
  return true;
}

ConcatenationPieces pieces_of(int axis, std::span<const TensorSpec> inputs,
                              const TensorSpec& output) {
  const Shape extents = cpu::physical_extents(output.shape, output.layout);
  const int split = physical_axis(axis, output.shape.rank(), output.layout);
  const auto inner =
      static_cast<int64_t>(bytes_of(output.type, extents.volume(split + 1, extents.rank())));
  ConcatenationPieces all{extents.volume(0, split), 0, {}};
  for (const TensorSpec& in : inputs) {
    const Shape own = cpu::physical_extents(in.shape, in.layout);
    all.pieces.push_back({own[split] * inner, all.row});
    all.row += all.pieces.back().bytes;
  }
  require(all.row == extents[split] * inner, "the pieces of a concatenation do not add up to {}",
          output.shape);
  return all;
}

}  // namespace tenon
