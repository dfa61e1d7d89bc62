// Transposes as copies of runs or of turned blocks. A reshape alone is a plain copy, and mostly a
// view that no kernel runs for.
#include "ops/shuffle.h"

#include <numeric>

#include "base/error.h"
#include "target/cpu/kernels.h"
#include "target/cpu/strided_copy.h"

namespace tenon::cpu {
namespace {

std::vector<int32_t> permutation(const std::vector<int32_t>& given, int rank) {
  std::vector<int32_t> p = given;
  if (p.empty()) {
    p.resize(static_cast<size_t>(rank));
    std::iota(p.begin(), p.end(), 0);
  }
  require(static_cast<int>(p.size()) == rank, "a permutation of {} axes for {}", p.size(), rank);
  return p;
}

bool is_identity(const std::vector<int32_t>& p) {
  return std::is_sorted(p.begin(), p.end());
}

Shape permuted(const Shape& shape, const std::vector<int32_t>& p) {
  Shape out = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) out[axis] = shape[p[static_cast<size_t>(axis)]];
  return out;
}

StridedCopy transpose(const Shape& from, const std::vector<int32_t>& p, size_t bytes) {
  return {permuted(from, p), permuted(from.strides(), p), bytes};
}

class ShuffleExecution final : public Execution {
 public:
  ShuffleExecution(const Shuffle& op, const TensorSpec& in, const TensorSpec& out)
      : from_(in.shape), to_(out.shape) {
    const auto bytes = bytes_of(in.type, 1);
    const auto first = permutation(op.first_transpose, in.shape.rank());
    const auto second = permutation(op.second_transpose, out.shape.rank());
    // What lies between the two transposes, after the reshape.
    Shape middle = out.shape;
    for (int axis = 0; axis < out.shape.rank(); ++axis)
      middle[second[static_cast<size_t>(axis)]] = out.shape[axis];
    first_ = transpose(in.shape, first, bytes);
    second_ = transpose(middle, second, bytes);
    has_first_ = !is_identity(first);
    has_second_ = !is_identity(second);
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
