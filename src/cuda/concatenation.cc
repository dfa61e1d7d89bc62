// Concatenation in one launch for up to 64 inputs, in any layout.
#include "ops/concatenation.h"

#include "base/cuda_stream.h"
#include "common/concatenation_slices.h"
#include "cuda/concatenation.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/strided_copy.h"

namespace tenon::cuda {
namespace {

LaunchExecution prepare_concatenation(const Op& op, std::span<const TensorSpec> inputs,
                                      std::span<const TensorSpec> outputs) {
  const auto& concatenation = static_cast<const Concatenation&>(op);
  const int axis = normalized_axis(concatenation.axis, outputs[0].shape.rank());
  return LaunchExecution(
      [all = slices_of(axis, inputs, outputs[0])](const RunArguments& arguments) {
        Concatenated joined{1, all.rows, all.row, arguments.outputs[0], 0, {}, {}, {}};
        const auto flush = [&] {
          uint64_t distances = address_of(joined.target) | static_cast<uint64_t>(all.row);
          for (int i = 0; i < joined.count; ++i)
            distances |= address_of(joined.source[i]) | static_cast<uint64_t>(joined.words[i])
                         | static_cast<uint64_t>(joined.offset[i]);
          joined.word = common_word(distances);
          joined.row = all.row / joined.word;
          for (int i = 0; i < joined.count; ++i) {
            joined.words[i] /= joined.word;
            joined.offset[i] /= joined.word;
          }
          launch_concatenation(joined, to_cuda(arguments.stream));
          joined.count = 0;
        };
        for (size_t i = 0; i < all.slices.size(); ++i) {
          const auto [bytes, offset] = all.slices[i];
          if (bytes == 0 || all.is_in_place(i, arguments)) continue;
          joined.source[joined.count] = arguments.inputs[i];
          joined.words[joined.count] = bytes;
          joined.offset[joined.count++] = offset;
          if (joined.count == Concatenated::kMaxInputs) flush();
        }
        if (joined.count > 0) flush();
        check_launch("a concatenation");
      });
}

Offer make(const KernelRequest& request, Layout layout) {
  const TensorSpec& output = request.outputs[0];
  if (output.shape.rank() == 0 || bits_of(output.type) < 8)
    return "scalars and elements narrower than a byte are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_concatenation);
  kernel->input_layouts.assign(request.inputs.size(), layout);
  kernel->output_layouts = {layout};
  return kernel;
}

}  // namespace

Offer offer_concatenation(const KernelRequest& request) {
  return make(request, most_common_layout(request, [](Layout) { return true; }));
}

Offer load_concatenation(const KernelRequest& request, const StoredKernel&) {
  return make(request, request.outputs[0].layout);
}

}  // namespace tenon::cuda
