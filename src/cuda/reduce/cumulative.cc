// Running sums and products: a thread for each line where lines lie side by side, else a block.
#include "ops/cumulative.h"

#include <algorithm>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/nvrtc/generated_kernel.h"
#include "cuda/reduce/sources.h"
#include "ops/support/reference.h"

namespace tenon::cuda {
namespace {

constexpr int64_t kThreads = 256;

/// `Parameters` of the kernels: `lines` lines of `length` elements that lie `inner` apart.
struct CumulativeParameters {
  const void* in;
  void* out;
  int64_t lines, length, inner;
};

class CumulativeExecution final : public Execution {
 public:
  CumulativeExecution(const Module& module, const Shape& shape)
      : by_threads_(module.kernel("threads")), by_blocks_(module.kernel("blocks")), shape_(shape) {}

  void run(const RunArguments& arguments) override {
    const auto given =
        read_integers({const_cast<void*>(arguments.inputs[1]), axis_type, axis_shape});
    require(given.size() == 1, "expected one axis (input 1), found {}", given.size());
    const int axis = normalized_axis(given[0], shape_.rank());
    CumulativeParameters p{arguments.inputs[0], arguments.outputs[0], 0, shape_[axis],
                           shape_.volume(axis + 1, shape_.rank())};
    p.lines = shape_.volume(0, axis) * p.inner;
    // Threads side by side read what lies side by side; few lines alone would leave most idle.
    constexpr int64_t kShort = 32, kMany = 8192;
    const bool by_threads = p.inner >= 32 && (p.length <= kShort || p.lines >= kMany);
    const int64_t blocks = by_threads ? (p.lines + kThreads - 1) / kThreads : p.lines;
    if (blocks > INT32_MAX)
      fail(ErrorCode::kUNSUPPORTED_STATE, "running sums of {} lines are not supported", p.lines);
    void* argument = &p;
    launch(by_threads ? by_threads_ : by_blocks_, dim3(static_cast<unsigned>(blocks)), kThreads,
           &argument, to_cuda(arguments.stream));
  }

  DataType axis_type = DataType::kINT32;
  Shape axis_shape;

 private:
  const void *by_threads_, *by_blocks_;
  Shape shape_;
};

class CumulativeKernel final : public GeneratedKernel {
 public:
  explicit CumulativeKernel(StoredKernel code) : GeneratedKernel(std::move(code)) {
    input_layouts = {Layout::kLinear, Layout::kLinear};
    output_layouts = {Layout::kLinear};
    input_on_host = {false, true};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    auto execution = std::make_unique<CumulativeExecution>(module(), inputs[0].shape);
    execution->axis_type = inputs[1].type;
    execution->axis_shape = inputs[1].shape;
    return execution;
  }
};

std::string refusal(const KernelRequest& request) {
  const DataType type = request.inputs[0].type;
  return type == DataType::kFP8 || type == DataType::kE8M0
             ? "low-precision floats are not supported"
             : "";
}

}  // namespace

Offer offer_cumulative(const KernelRequest& request) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  return offer_generated([&] {
    const auto& op = static_cast<const Cumulative&>(request.op);
    return std::make_unique<CumulativeKernel>(
        generated_code(request, cumulative_source(op, request.inputs[0].type)));
  });
}

Offer load_cumulative(const KernelRequest& request, const StoredKernel& stored) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  return std::make_unique<CumulativeKernel>(stored);
}

}  // namespace tenon::cuda
