// Changes of layout, for any type of whole bytes.
#include "cuda/reorder.h"

#include "base/cuda_stream.h"
#include "cuda/check.h"
#include "cuda/cuda_target.h"
#include "cuda/kernels.h"
#include "ops/reorder.h"

namespace tenon::cuda {
namespace {

class TransposeExecution final : public Execution {
 public:
  explicit TransposeExecution(const TransposeParameters& parameters) : parameters_(parameters) {}

  void run(const RunArguments& arguments) override {
    const auto& [in, out, matrices, rows, columns, bytes] = parameters_;
    if (matrices * rows * columns == 0) return;
    parameters_.in = arguments.inputs[0];
    parameters_.out = arguments.outputs[0];
    if (rows == 1 || columns == 1) {  // both layouts are the same
      const auto size = static_cast<size_t>(matrices * rows * columns * bytes);
      return cuda_device().copy(parameters_.out, parameters_.in, size, arguments.stream);
    }
    launch_transpose(parameters_, to_cuda(arguments.stream));
    check_launch("a change of layout");
  }

 private:
  TransposeParameters parameters_;
};

class RegroupExecution final : public Execution {
 public:
  RegroupExecution(const TensorSpec& from, const TensorSpec& to)
      : from_(from.shape, from.layout, channel_axis(from.layout, to.layout)),
        to_(to.shape, to.layout, channel_axis(from.layout, to.layout)),
        bytes_(bits_of(from.type) / 8) {}

  void run(const RunArguments& arguments) override {
    launch_regroup(arguments.inputs[0], from_, arguments.outputs[0], to_, bytes_,
                   to_cuda(arguments.stream));
    check_launch("a change of layout");
  }

 private:
  ChannelGroups from_, to_;
  int64_t bytes_;
};

bool is_dense(Layout layout) {
  return layout == Layout::kLinear || layout == Layout::kChannelsLast;
}

class ReorderKernel final : public Kernel {
 public:
  explicit ReorderKernel(const Reorder& op) {
    input_layouts = {op.from};
    output_layouts = {op.to};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape& shape = inputs[0].shape;
    require(shape == outputs[0].shape && inputs[0].type == outputs[0].type,
            "a reorder from {} to {}", shape, outputs[0].shape);
    require(shape.rank() >= 2, "only tensors with a channel axis have layouts, found {}", shape);
    if (!is_dense(input_layouts[0]) || !is_dense(output_layouts[0]))
      return std::make_unique<RegroupExecution>(inputs[0], outputs[0]);
    TransposeParameters p;
    p.matrices = shape[0];
    p.rows = shape[1];
    p.columns = shape.volume(2, shape.rank());
    if (output_layouts[0] == Layout::kLinear) std::swap(p.rows, p.columns);
    p.bytes = bits_of(inputs[0].type) / 8;
    return std::make_unique<TransposeExecution>(p);
  }
};

}  // namespace

Offer offer_reorder(const KernelRequest& request) {
  const auto& op = static_cast<const Reorder&>(request.op);
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  if (op.from == op.to) return "there is nothing to change";
  return std::make_unique<ReorderKernel>(op);
}

}  // namespace tenon::cuda
