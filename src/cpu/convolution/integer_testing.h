// What the tests of convolutions and products of integers share: layers of random operands, run by
// a candidate and by the reference.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "backend/target.h"
#include "cpu/cpu_target.h"
#include "network/network.h"
#include "ops/integer_convolution.h"

namespace tenon::cpu {

using In = IntegerInputs;

inline std::mt19937 generator(5);  // the same numbers each time

/// All values of the type, its ends often.
inline Tensor bytes(DataType type, const Shape& shape) {
  Tensor t(type, shape);
  auto* to = t.mutable_data<uint8_t>();
  for (int64_t i = 0; i < t.count(); ++i) {
    const auto draw = generator();
    constexpr uint8_t kEnds[] = {0, 127, 128, 255};
    to[i] = draw % 4 == 0 ? kEnds[draw / 4 % 4] : static_cast<uint8_t>(draw >> 8);
  }
  return t;
}

template <class T> Tensor list(DataType type, const std::vector<T>& values) {
  return Tensor::of<T>(type, {static_cast<int64_t>(values.size())}, values);
}

inline Tensor biases(int64_t count) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<int32_t>(generator() % 20001) - 10000);
  return list(DataType::kINT32, values);
}

inline Tensor scales(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(std::ldexp(1.f, -10) * static_cast<float>(1 + generator() % 5));
  return list(DataType::kFLOAT, values);
}

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

struct Types {
  DataType data, weights, to;
};
inline std::vector<Types> all_types() {
  std::vector<Types> list;
  for (DataType data : {DataType::kINT8, DataType::kUINT8})
    for (DataType weights : {DataType::kINT8, DataType::kUINT8})
      for (DataType to : {DataType::kINT32, DataType::kFLOAT, DataType::kINT8, DataType::kUINT8})
        list.push_back({data, weights, to});
  return list;
}

enum class Zeros { kNone, kOne, kEach };

/// SiLU of a number in steps of the result, four times as large: x * sigmoid(x / 8) * 4.
inline PointwiseProgram silu_program() {
  using Family = PointwiseStep::Family;
  const auto of = [](nvinfer1::ElementWiseOperation o) { return static_cast<int32_t>(o); };
  return {1,
          {8, 4},
          {{Family::kElementWise, of(nvinfer1::ElementWiseOperation::kDIV), 0, 1},
           {Family::kActivation, static_cast<int32_t>(nvinfer1::ActivationType::kSIGMOID), 3},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kPROD), 4, 0},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kPROD), 5, 2}}};
}

/// The same, plus a second input, divided by 3.
inline PointwiseProgram silu_and_sum_program() {
  using Family = PointwiseStep::Family;
  const auto of = [](nvinfer1::ElementWiseOperation o) { return static_cast<int32_t>(o); };
  return {2,
          {8, 4, 3},
          {{Family::kElementWise, of(nvinfer1::ElementWiseOperation::kDIV), 0, 2},
           {Family::kActivation, static_cast<int32_t>(nvinfer1::ActivationType::kSIGMOID), 5},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kPROD), 6, 0},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kPROD), 7, 3},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kSUM), 8, 1},
           {Family::kElementWise, of(nvinfer1::ElementWiseOperation::kDIV), 9, 4}}};
}

/// As exact, but for one step where an approximation of the epilogue ends on the other side of the
/// middle of two bytes, in one element of a hundred at most.
inline void expect_within_a_step(const std::vector<double>& found,
                                 const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  size_t others = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_LE(std::abs(found[i] - expected[i]), 1) << i;
    if (found[i] != expected[i]) ++others;
  }
  EXPECT_LE(others * 100, found.size());
}

/// For bytes with zero points for each channel bounds within those of the type; else none.
inline ResultBounds bounds_for(DataType to, Zeros zeros) {
  if (!is_byte(to) || zeros != Zeros::kEach) return {};
  return to == DataType::kINT8 ? ResultBounds{0, 100} : ResultBounds{5, 200};
}

inline std::vector<std::optional<Tensor>> operands(const Types& t, Tensor data, Tensor weights,
                                                   int64_t channels, Zeros zeros) {
  std::vector<std::optional<Tensor>> in(In::kCount);
  in[In::kData] = std::move(data);
  in[In::kWeights] = std::move(weights);
  if (zeros != Zeros::kNone) {
    in[In::kDataZero] = bytes(t.data, {});
    in[In::kWeightsZero] = bytes(t.weights, zeros == Zeros::kOne ? Shape{} : Shape{channels});
    in[In::kBias] = biases(channels);
  }
  if (t.to != DataType::kINT32) in[In::kResultScale] = scales(zeros == Zeros::kOne ? 1 : channels);
  if (t.to == DataType::kINT8 || t.to == DataType::kUINT8) in[In::kResultZero] = bytes(t.to, {});
  if (t.to != DataType::kINT32 && zeros == Zeros::kEach) in[In::kResultShift] = scales(channels);
  return in;
}

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

inline IntegerConvolution integer_convolution(int64_t output_channels, const Shape& kernel,
                                              int64_t groups) {
  IntegerConvolution op;
  op.output_channels = output_channels;
  op.groups = groups;
  op.kernel = kernel;
  op.stride = op.dilation = Shape::filled(kernel.rank(), 1);
  op.pre_padding = op.post_padding = Shape::filled(kernel.rank(), 0);
  return op;
}

}  // namespace tenon::cpu
