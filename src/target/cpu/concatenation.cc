// Concatenation as copies of long runs, in any layout that keeps the pieces whole.
#include "ops/concatenation.h"

#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "target/cpu/kernels.h"
#include "target/cpu/physical.h"

namespace tenon::cpu {
namespace {

/// Where an axis of the tensor is among those of the layout.
int physical_axis(int axis, int rank, Layout layout) {
  if (layout != Layout::kChannelsLast || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

class ConcatenationExecution final : public Execution {
 public:
  ConcatenationExecution(int axis, std::span<const TensorSpec> inputs, const TensorSpec& output) {
    const Shape extents = physical_extents(output.shape, output.layout);
    const int split = physical_axis(axis, output.shape.rank(), output.layout);
    outer_ = extents.volume(0, split);
    const size_t inner = bytes_of(output.type, extents.volume(split + 1, extents.rank()));
    for (const TensorSpec& in : inputs) {
      const Shape own = physical_extents(in.shape, in.layout);
      pieces_.push_back({static_cast<size_t>(own[split]) * inner, row_});
      row_ += pieces_.back().bytes;
    }
    require(row_ == static_cast<size_t>(extents[split]) * inner,
            "the pieces of a concatenation do not add up to {}", output.shape);
  }

  void run(const RunArguments& arguments) override {
    constexpr int64_t kGrainBytes = 65536;
    const int64_t count = outer_ * static_cast<int64_t>(pieces_.size());
    const int64_t mean = static_cast<int64_t>(row_ / std::max<size_t>(pieces_.size(), 1)) + 1;
    auto* output = static_cast<std::byte*>(arguments.outputs[0]);
    parallel_for(count, std::max<int64_t>(1, kGrainBytes / mean), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto row = static_cast<size_t>(i) / pieces_.size();
        const auto input = static_cast<size_t>(i) % pieces_.size();
        const Piece& piece = pieces_[input];
        if (piece.bytes > 0)
          std::memcpy(output + row * row_ + piece.offset,
                      static_cast<const std::byte*>(arguments.inputs[input]) + row * piece.bytes,
                      piece.bytes);
      }
    });
  }

 private:
  struct Piece {
    size_t bytes, offset;
  };
  int64_t outer_ = 0;
  size_t row_ = 0;
  std::vector<Piece> pieces_;
};

class ConcatenationKernel final : public Kernel {
 public:
  ConcatenationKernel(const KernelRequest& request, int axis, Layout layout) : axis_(axis) {
    input_layouts.assign(request.inputs.size(), layout);
    output_layouts.assign(1, layout);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<ConcatenationExecution>(axis_, inputs, outputs[0]);
  }

 private:
  int axis_;
};

bool keeps_pieces_whole(const KernelRequest& request, int axis, Layout layout) {
  if (layout == Layout::kLinear || layout == Layout::kChannelsLast || axis != 1) return true;
  return std::all_of(request.inputs.begin(), request.inputs.end(), [&](const TensorSpec& in) {
    return in.shape[1] % channel_block(layout) == 0;
  });
}

}  // namespace

Offer offer_concatenation(const KernelRequest& request) {
  const auto& op = static_cast<const Concatenation&>(request.op);
  const TensorSpec& output = request.outputs[0];
  if (output.shape.rank() == 0 || bits_of(output.type) < 8)
    return "scalars and elements narrower than a byte are not supported";
  const int axis = normalized_axis(op.axis, output.shape.rank());
  if (request.stored != nullptr)
    return std::make_unique<ConcatenationKernel>(request, axis, output.layout);
  // The layout in which most of the bytes arrive needs the fewest reorders.
  std::vector<std::pair<Layout, int64_t>> arriving;
  for (const TensorSpec& in : request.inputs) {
    auto same = std::find_if(arriving.begin(), arriving.end(),
                             [&](const auto& a) { return a.first == in.layout; });
    if (same == arriving.end()) same = arriving.insert(same, {in.layout, 0});
    same->second += in.shape.volume();
  }
  Layout best = Layout::kLinear;
  int64_t most = -1;
  for (const auto& [layout, elements] : arriving) {
    if (elements <= most || !keeps_pieces_whole(request, axis, layout)) continue;
    most = elements;
    best = layout;
  }
  return std::make_unique<ConcatenationKernel>(request, axis, best);
}

}  // namespace tenon::cpu
