// Quantisation by one scale, in the layout in which the data arrives: the reference kernel on the
// elements as they lie.
#include "ops/quantize.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"
#include "ops/support/reference.h"

namespace tenon::cpu {
namespace {

class QuantizeExecution final : public Execution {
 public:
  QuantizeExecution(const Op& op, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs)
      : op_(op) {
    for (const TensorSpec& s : inputs) inputs_.push_back({nullptr, s.type, s.shape});
    inputs_[0].shape = Shape{inputs[0].shape.volume()};
    output_ = {nullptr, outputs[0].type, inputs_[0].shape};
  }

  void run(const RunArguments& arguments) override {
    for (size_t i = 0; i < inputs_.size(); ++i)
      inputs_[i].data = const_cast<void*>(arguments.inputs[i]);
    output_.data = arguments.outputs[0];
    op_.reference({inputs_, {&output_, 1}});
  }

 private:
  const Op& op_;
  std::vector<TensorView> inputs_;
  TensorView output_;
};

/// Of float32 to bytes: the same results, in the loops of this processor.
class ByteQuantizeExecution final : public Execution {
 public:
  ByteQuantizeExecution(std::span<const TensorSpec> inputs, const TensorSpec& output)
      : count_(output.shape.volume()), to_(output.type) {
    for (const TensorSpec& s : inputs) small_.push_back({nullptr, s.type, s.shape});
  }

  void run(const RunArguments& arguments) override {
    const SimdKernels& simd = simd_kernels();
    const auto divide = simd.element_wise[static_cast<int>(nvinfer1::ElementWiseOperation::kDIV)];
    const IntegerRange range = integer_range(to_);
    const float scale = number_of(arguments, 1, 1), zero = number_of(arguments, 2, 0);
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    auto* to = static_cast<uint8_t*>(arguments.outputs[0]);
    parallel_for((count_ + kBlock - 1) / kBlock, kGrainBlocks, [&](int64_t begin, int64_t end) {
      alignas(64) float block[kBlock], scales[kBlock];
      std::fill_n(scales, kBlock, scale);
      for (int64_t at = begin * kBlock; at < std::min(end * kBlock, count_); at += kBlock) {
        const int64_t n = std::min(kBlock, count_ - at);
        divide(from + at, scales, block, n, 0, 0);
        simd.round_to_bytes(block, static_cast<float>(range.lowest) - zero,
                            static_cast<float>(range.highest) - zero, static_cast<int32_t>(zero),
                            to + at, n);
      }
    });
  }

 private:
  static constexpr int64_t kBlock = 512, kGrainBlocks = 16;

  float number_of(const RunArguments& arguments, size_t i, float otherwise) const {
    if (i >= small_.size() || arguments.inputs[i] == nullptr) return otherwise;
    TensorView view = small_[i];
    view.data = const_cast<void*>(arguments.inputs[i]);
    return Floats(view)[0];
  }

  int64_t count_;
  DataType to_;
  std::vector<TensorView> small_;
};

bool is_one(const TensorSpec& s) {
  return !s.present || (s.shape.rank() <= 1 && s.shape.volume() == 1);
}

class QuantizeKernel final : public Kernel {
 public:
  explicit QuantizeKernel(const Op& op) : op_(op.clone()) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    for (size_t i = 1; i < inputs.size(); ++i)
      require(is_one(inputs[i]), "one scale was expected, found {}", inputs[i].shape);
    const auto* quantize = dynamic_cast<const Quantize*>(op_.get());
    if (quantize != nullptr && is_byte(quantize->to) && quantize->lowest == quantize->highest
        && inputs[0].type == DataType::kFLOAT)
      return std::make_unique<ByteQuantizeExecution>(inputs, outputs[0]);
    return std::make_unique<QuantizeExecution>(*op_, inputs, outputs);
  }

 private:
  std::unique_ptr<Op> op_;
};

}  // namespace

Offer offer_quantize(const KernelRequest& request) {
  for (size_t i = 1; i < request.inputs.size(); ++i)
    if (!is_one(request.inputs[i])) return "there is more than one scale";
  for (const TensorSpec* s : {&request.inputs[0], &request.outputs[0]})
    if (bits_of(s->type) < 8) return "elements narrower than a byte are not supported";
  auto kernel = std::make_unique<QuantizeKernel>(request.op);
  kernel->input_layouts.assign(request.inputs.size(), Layout::kLinear);
  // Padding, which blocked layouts have, would not stay 0.
  const bool is_linear = request.inputs[0].layout == Layout::kLinear;
  kernel->input_layouts[0] = is_linear ? Layout::kLinear : Layout::kChannelsLast;
  kernel->output_layouts = {kernel->input_layouts[0]};
  return kernel;
}

}  // namespace tenon::cpu
