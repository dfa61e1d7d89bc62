// Transposes as copies of runs or of turned blocks. A reshape alone is a plain copy, and mostly a
// view that no kernel runs for.
#include "ops/shuffle.h"

#include "base/error.h"
#include "cpu/kernels.h"
#include "cpu/strided_copy.h"

namespace tenon::cpu {
namespace {

class ShuffleExecution final : public Execution {
 public:
  ShuffleExecution(const Shuffle& op, const TensorSpec& in, const TensorSpec& out)
      : from_(in.shape), to_(out.shape) {
    const auto bytes = bytes_of(in.type, 1);
    const ShuffleSteps steps = steps_of(op, in.shape, out.shape);
    first_ = StridedCopy(steps.first.shape, steps.first.strides, bytes);
    second_ = StridedCopy(steps.second.shape, steps.second.strides, bytes);
    has_first_ = !steps.first.is_identity;
    has_second_ = !steps.second.is_identity;
    if (has_first_ && has_second_) scratch_ = bytes_of(in.type, in.shape.volume());
  }

  size_t scratch_bytes() const override { return scratch_; }

  // The extremes of a profile, for which memory is measured, need not fit together.
  void run(const RunArguments& arguments) override {
    require(from_.volume() == to_.volume(), "cannot reshape {} to {}", from_, to_);
    const void* in = arguments.inputs[0];
    void* out = arguments.outputs[0];
    if (has_first_ && has_second_) {
      first_.run(in, arguments.scratch);
      second_.run(arguments.scratch, out);
    } else if (has_second_) {
      second_.run(in, out);
    } else {
      first_.run(in, out);
    }
  }

 private:
  Shape from_, to_;
  StridedCopy first_, second_;
  bool has_first_ = false, has_second_ = false;
  size_t scratch_ = 0;
};

class ShuffleKernel final : public Kernel {
 public:
  explicit ShuffleKernel(const Shuffle& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<ShuffleExecution>(op_, inputs[0], outputs[0]);
  }

 private:
  Shuffle op_;
};

}  // namespace

Offer offer_shuffle(const KernelRequest& request) {
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  return std::make_unique<ShuffleKernel>(static_cast<const Shuffle&>(request.op));
}

}  // namespace tenon::cpu
