// What the tests of convolutions and products of integers share: layers of random operands, run by
// a candidate and by the reference.
#pragma once

#include <gtest/gtest.h>

#include "backend/target.h"
#include "common/quantized_operands_testing.h"
#include "cpu/cpu_target.h"
#include "network/network.h"

namespace tenon::cpu {

class Layer {
 public:
  Layer(const Op& op, std::vector<std::optional<Tensor>> inputs, std::vector<bool> constant)
      : op_(op.clone()), inputs_(std::move(inputs)), constant_(std::move(constant)) {
    Network network;
    std::vector<Value*> values;
    for (const auto& in : inputs_) values.push_back(in ? &network.add_weight(*in) : nullptr);
    Node& node = network.add_node(op_->clone(), values);
    network.infer(node);
    Shape shape;
    for (const Dim d : node.outputs[0]->dims) shape.push_back(d->value.integer);
    output_ = {node.outputs[0]->type, Layout::kLinear, shape, true};
    for (size_t i = 0; i < inputs_.size(); ++i) {
      specs_.push_back(
          inputs_[i] ? TensorSpec{inputs_[i]->type(), Layout::kLinear, inputs_[i]->shape(), true}
                     : TensorSpec{DataType::kFLOAT, Layout::kLinear, {}, false});
      constants_.push_back(inputs_[i] && constant_[i] ? &*inputs_[i] : nullptr);
    }
  }

  /// The refusal, if any.
  std::string offer(std::string_view name, const StoredKernel* stored = nullptr) {
    std::vector<const Tensor*> constants = constants_;
    if (stored != nullptr) constants.assign(inputs_.size(), nullptr);
    for (const Candidate& c : cpu_target().candidates(*op_)) {
      if (c.name != name) continue;
      const KernelRequest request{*op_, specs_, {&output_, 1}, constants};
      Offer offer = stored != nullptr ? c.load(request, *stored) : c.offer(request);
      if (auto* reason = std::get_if<std::string>(&offer)) return *reason;
      kernel_ = std::move(std::get<std::unique_ptr<Kernel>>(offer));
      kernel_->input_is_packed.resize(inputs_.size());
      kernel_->input_layouts.resize(inputs_.size(), Layout::kLinear);
      kernel_->output_layouts.resize(1, Layout::kLinear);
      return "";
    }
    return "no such candidate";
  }
  StoredKernel stored() const { return kernel_->store(); }
  /// Goes on with a variant of the kernel that was offered; false where it has no so many.
  bool take_variant(size_t which) {
    if (variants_.empty()) variants_ = kernel_->variants();
    if (which >= variants_.size()) return false;
    kernel_ = std::move(variants_[which]);
    return true;
  }
  Shape result() const { return output_.shape; }

  std::vector<double> reference() const {
    std::vector<TensorView> views;
    for (const auto& in : inputs_) views.push_back(in ? view_of(*in) : TensorView{});
    Tensor out(output_.type, output_.shape);
    const TensorView view = view_of(out);
    op_->reference({views, {&view, 1}});
    return out.numbers();
  }

  /// For data and a result of other shapes than were offered, perhaps.
  std::unique_ptr<Execution> prepare(const Shape& data, const Shape& result) const {
    std::vector<TensorSpec> specs = specs_;
    for (size_t i = 0; i < specs.size(); ++i) specs[i].layout = kernel_->input_layouts[i];
    specs[In::kData].shape = data;
    const TensorSpec output{output_.type, kernel_->output_layouts[0], result, true};
    return kernel_->prepare(specs, {&output, 1});
  }

  std::vector<double> run() const {
    const auto execution = prepare(specs_[In::kData].shape, output_.shape);
    std::vector<Tensor> laid(inputs_.size());
    std::vector<const void*> addresses;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i]) laid[i] = moved(*inputs_[i], kernel_->input_layouts[i], true);
      const bool given = inputs_[i] && !kernel_->input_is_packed[i];
      addresses.push_back(given ? laid[i].data() : nullptr);
    }
    Tensor out(output_.type, output_.shape);
    void* address = out.mutable_data<void>();
    // As an engine, which gives no memory where none is wanted.
    const size_t bytes = execution->scratch_bytes();
    const auto scratch = bytes > 0 ? allocate_aligned(bytes) : nullptr;
    for (int i = 0; i < 2; ++i) execution->run({addresses, {&address, 1}, scratch.get()});
    return moved(out, kernel_->output_layouts[0], false).numbers();
  }

 private:
  /// Into channels last, or back.
  static Tensor moved(const Tensor& t, Layout layout, bool forth) {
    if (layout == Layout::kLinear) return t;
    Tensor to(t.type(), t.shape());
    const auto size = static_cast<int64_t>(bytes_of(t.type(), 1));
    const Shape& s = t.shape();
    const int64_t n = s[0], c = s[1], plane = s.volume(2, s.rank());
    for (int64_t i = 0; i < n * c * plane; ++i) {
      const int64_t last = (i / (c * plane) * plane + i % plane) * c + i / plane % c;
      const int64_t from = forth ? i : last, at = forth ? last : i;
      std::memcpy(to.mutable_data<std::byte>() + at * size, t.data<std::byte>() + from * size,
                  static_cast<size_t>(size));
    }
    return to;
  }

  std::unique_ptr<Op> op_;
  std::vector<std::optional<Tensor>> inputs_;
  std::vector<bool> constant_;
  std::vector<TensorSpec> specs_;
  std::vector<const Tensor*> constants_;
  TensorSpec output_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<std::unique_ptr<Kernel>> variants_;
};

inline void expect_exact(const Op& op, const std::vector<std::optional<Tensor>>& inputs,
                         std::string_view candidate, std::vector<bool> constant = {}) {
  if (constant.empty()) constant.assign(inputs.size(), true);
  constant[In::kData] = false;
  Layer layer(op, inputs, constant);
  ASSERT_EQ(layer.offer(candidate), "");
  const auto expected = layer.reference();
  EXPECT_EQ(layer.run(), expected);
  const StoredKernel stored = layer.stored();
  ASSERT_EQ(layer.offer(candidate, &stored), "");
  EXPECT_EQ(layer.run(), expected) << "loaded";
}

}  // namespace tenon::cpu
