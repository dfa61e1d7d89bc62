// Builds small networks, runs a pass over them, and compares what they compute before and after.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/half.h"
#include "network/clone.h"
#include "network/reference_run.h"
#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/elementwise.h"
#include "ops/matrix_multiply.h"
#include "ops/scale.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "optimize/optimize.h"
#include "optimize/passes.h"
#include "streams/host_device.h"

namespace tenon::testing {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using Pass = std::optional<Patch> (*)(const Network&, const Target&);

/// A target that fuses what the test says: by default everything.
class FusingTarget : public Target {
 public:
  std::function<bool(const PointwiseProgram&)> accepts = [](const auto&) { return true; };

  std::string_view name() const override { return "test"; }
  std::string fingerprint() const override { return "test"; }
  std::string instruction_set() const override { return "test"; }
  std::span<const Candidate> candidates(const Op&) const override { return {}; }
  const Device& device() const override { return host_device(); }
  bool fuses(const Op&, const PointwiseProgram& epilogue) const override {
    return accepts(epilogue);
  }
};

/// Numbers in [-1, 1) that depend on the seed only.
inline Tensor random_tensor(const Shape& shape, unsigned seed, DataType type = DataType::kFLOAT) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) {
    if (type == DataType::kHALF)
      t.mutable_data<Half>()[i] = static_cast<Half>(number(generator));
    else
      t.mutable_data<float>()[i] = number(generator);
  }
  return t;
}

/// A network under construction; layers are named by kind and number.
class Model {
 public:
  Network network;
  DataType type = DataType::kFLOAT;

  Value& input(const Shape& shape, std::string name = "x") {
    return network.add_input(std::move(name), type, shape);
  }
  Value& weight(const Shape& shape) {
    return network.add_weight(random_tensor(shape, ++seed_, type));
  }
  Value& number(float number, int rank = 4) {
    return network.add_weight(
        Tensor::of<float>(DataType::kFLOAT, Shape::filled(rank, 1), std::vector<float>{number}));
  }
  Value& add(std::unique_ptr<Op> op, std::vector<Value*> inputs, std::string name = "") {
    if (name.empty()) name = fmt::format("{}_{}", op->name(), ++layers_);
    Node& node = network.add_node(std::move(op), std::move(inputs), std::move(name));
    network.infer(node);
    return *node.outputs[0];
  }
  Value& convolution(Value& x, int64_t output_channels, int64_t size = 3, int64_t groups = 1,
                     bool with_bias = true) {
    auto op = std::make_unique<Convolution>();
    op->output_channels = output_channels;
    op->kernel = {size, size};
    op->stride = op->dilation = {1, 1};
    op->pre_padding = op->post_padding = {size / 2, size / 2};
    op->groups = groups;
    const int64_t channels = x.dims[1]->value.integer;
    Value& kernel = weight({output_channels, channels / groups, size, size});
    Value* bias = with_bias ? &weight({output_channels}) : nullptr;
    return add(std::move(op), {&x, &kernel, bias}, fmt::format("Conv_{}", ++layers_));
  }
  Value& activation(Value& x, ActivationType type, float alpha = 0, float beta = 0) {
    auto op = std::make_unique<Activation>();
    op->type = type;
    op->alpha = alpha;
    op->beta = beta;
    return add(std::move(op), {&x});
  }
  Value& relu(Value& x) { return activation(x, ActivationType::kRELU); }
  Value& elementwise(Value& a, ElementWiseOperation operation, Value& b) {
    auto op = std::make_unique<ElementWise>();
    op->operation = operation;
    return add(std::move(op), {&a, &b});
  }
  Value& sum(Value& a, Value& b) { return elementwise(a, ElementWiseOperation::kSUM, b); }
  Value& product(Value& a, Value& b) { return elementwise(a, ElementWiseOperation::kPROD, b); }
  Value& unary(nvinfer1::UnaryOperation operation, Value& x) {
    auto op = std::make_unique<Unary>();
    op->operation = operation;
    return add(std::move(op), {&x});
  }
  /// Over the last axis.
  Value& softmax(Value& x) {
    auto op = std::make_unique<Softmax>();
    op->axes = 1u << (x.dims.size() - 1);
    return add(std::move(op), {&x});
  }
  Value& batch_norm(Value& x) {
    auto op = std::make_unique<Scale>();
    op->mode = nvinfer1::ScaleMode::kCHANNEL;
    const int64_t channels = x.dims[1]->value.integer;
    return add(std::move(op), {&x, &weight({channels}), &weight({channels})});
  }
  Value& matrix_product(Value& a, Value& b, bool transposed = false) {
    auto op = std::make_unique<MatrixMultiply>();
    if (transposed) op->operation_b = nvinfer1::MatrixOperation::kTRANSPOSE;
    return add(std::move(op), {&a, &b});
  }
  void output(Value& v, std::string name = "y") {
    v.name = std::move(name);
    network.mark_output(v);
  }

 private:
  unsigned seed_ = 0;
  int layers_ = 0;
};

inline std::vector<Tensor> random_inputs(const Network& network) {
  std::vector<Tensor> inputs;
  for (const Value* v : network.inputs()) {
    Shape shape = v->declared;
    for (int i = 0; i < shape.rank(); ++i)
      if (shape[i] < 0) shape[i] = 2;
    inputs.push_back(random_tensor(shape, 100 + static_cast<unsigned>(v->id), v->type));
  }
  return inputs;
}

/// What the two networks compute from random inputs agrees within `tolerance`, relative to the
/// largest element.
inline void expect_same_results(const Network& before, const Network& after,
                                double tolerance = 1e-5) {
  const std::vector<Tensor> inputs = random_inputs(before);
  const std::vector<Tensor> expected = run_reference(before, inputs);
  const std::vector<Tensor> found = run_reference(after, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(after.outputs()[i]->name, before.outputs()[i]->name);
    ASSERT_EQ(found[i].type(), expected[i].type());
    ASSERT_EQ(found[i].shape(), expected[i].shape());
    const std::vector<double> a = expected[i].numbers(), b = found[i].numbers();
    double largest = 0;
    for (double v : a) largest = std::max(largest, std::fabs(v));
    for (size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(b[k], a[k], tolerance * largest) << "element " << k << " of output " << i;
  }
}

/// Names of the layers in order.
inline std::vector<std::string> layers_of(const Network& network) {
  std::vector<std::string> names;
  for (const Node* node : network.sorted()) names.push_back(node->name);
  return names;
}

/// Runs the pass on a copy until it finds nothing; checks that the copy is well formed and computes
/// the same.
inline std::unique_ptr<Network> rewritten(const Network& network, Pass pass,
                                          const Target& target = FusingTarget(),
                                          double tolerance = 1e-5) {
  auto copy = clone(network);
  copy->infer();
  for (int i = 0; i < 10; ++i) {
    std::optional<Patch> patch = pass(*copy, target);
    if (!patch) break;
    std::move(*patch).apply(*copy);
    verify(*copy);
    EXPECT_LT(i, 9) << "the pass does not come to an end";
  }
  expect_same_results(network, *copy, tolerance);
  return copy;
}

}  // namespace tenon::testing
