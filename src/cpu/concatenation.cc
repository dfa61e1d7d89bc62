// Concatenation as copies of long runs, in any layout that keeps the slices whole.
#include "ops/concatenation.h"

#include <cstring>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/parallel.h"
#include "common/concatenation_slices.h"
#include "cpu/kernels.h"
#include "cpu/words.h"

namespace tenon::cpu {
namespace {

class ConcatenationExecution final : public Execution {
 public:
  ConcatenationExecution(int axis, std::span<const TensorSpec> inputs, const TensorSpec& output)
      : all_(slices_of(axis, inputs, output)) {}

  void run(const RunArguments& arguments) override {
    if (all_.row == 0 || all_.are_in_place(arguments)) return;
    // An input's slices of some rows, so that what several of them write stays in the first cache.
    constexpr int64_t kBlockBytes = 16384, kGrainBytes = 65536;
    const auto inputs = static_cast<int64_t>(all_.slices.size());
    const int64_t block = std::max<int64_t>(1, kBlockBytes / all_.row);
    const int64_t blocks = (all_.rows + block - 1) / block;
    const int64_t grain = kGrainBytes / (std::min(block, all_.rows) * all_.row / inputs + 1) + 1;
    auto* output = static_cast<std::byte*>(arguments.outputs[0]);
    parallel_for(blocks * inputs, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto input = static_cast<size_t>(i % inputs);
        const int64_t first = i / inputs * block;
        const auto [bytes, offset] = all_.slices[input];
        if (all_.is_in_place(input, arguments)) continue;
        copy_slices(static_cast<const std::byte*>(arguments.inputs[input]) + first * bytes,
                    output + first * all_.row + offset, std::min(block, all_.rows - first), bytes);
      }
    });
  }

 private:
  // `rows` slices that lie side by side, each into its row of the output.
  void copy_slices(const std::byte* from, std::byte* to, int64_t rows, int64_t bytes) const {
    const bool is_word = with_word(bytes, [&](auto word) {
      for (int64_t r = 0; r < rows; ++r) {
        std::memcpy(&word, from + r * bytes, sizeof word);
        std::memcpy(to + r * all_.row, &word, sizeof word);
      }
    });
    if (is_word || bytes == 0) return;
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * all_.row, from + r * bytes, static_cast<size_t>(bytes));
  }

  ConcatenationSlices all_;
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

bool keeps_slices_whole(const KernelRequest& request, int axis, Layout layout) {
  if (layout == Layout::kLinear || layout == Layout::kChannelsLast || axis != 1) return true;
  return std::all_of(request.inputs.begin(), request.inputs.end(), [&](const TensorSpec& in) {
    return in.shape[1] % channel_block(layout) == 0;
  });
}

Offer make(const KernelRequest& request, FunctionRef<Layout(int axis)> layout) {
  const TensorSpec& output = request.outputs[0];
  if (output.shape.rank() == 0 || bits_of(output.type) < 8)
    return "scalars and elements narrower than a byte are not supported";
  const int axis =
      normalized_axis(static_cast<const Concatenation&>(request.op).axis, output.shape.rank());
  return std::make_unique<ConcatenationKernel>(request, axis, layout(axis));
}

}  // namespace

Offer offer_concatenation(const KernelRequest& request) {
  return make(request, [&](int axis) {
    return most_common_layout(
        request, [&](Layout layout) { return keeps_slices_whole(request, axis, layout); });
  });
}

Offer load_concatenation(const KernelRequest& request, const StoredKernel&) {
  return make(request, [&](int) { return request.outputs[0].layout; });
}

}  // namespace tenon::cpu
