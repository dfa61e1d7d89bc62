// Builds small quantised networks for the tests of passes.
#pragma once

#include <cstring>

#include "ops/dequantize.h"
#include "ops/quantize.h"
#include "optimize/pass_test.h"

namespace tenon::testing {

// A model of quantised tensors. One step of the results is far below kTolerance of the largest.
class QuantizedModel : public Model {
 public:
  Value& list(const std::vector<float>& values) {
    Shape shape{static_cast<int64_t>(values.size())};
    if (values.size() == 1) shape = Shape();
    return network.add_weight(Tensor::of<float>(DataType::kFLOAT, shape, values));
  }
  Value& zero(DataType type, int value) {
    Tensor t(type, {});
    t.mutable_data<uint8_t>()[0] = static_cast<uint8_t>(value);
    return network.add_weight(t);
  }
  Value& bytes(DataType type, const Shape& shape) {
    Tensor t(type, shape);
    std::mt19937 generator(3);
    for (int64_t i = 0; i < t.count(); ++i)
      t.mutable_data<uint8_t>()[i] =
          static_cast<uint8_t>(generator() & (type == DataType::kFP8 ? 0xf7u : 0xffu));  // no NaN
    return network.add_weight(t);
  }
  Value& quantize(Value& x, DataType to, float scale, int zero_point) {
    auto op = std::make_unique<Quantize>();
    op->to = to;
    return add(std::move(op), {&x, &list({scale}), &zero(to, zero_point)});
  }
  Value& dequantize(Value& x, const std::vector<float>& scale, Value* zero_point = nullptr,
                    int axis = -1) {
    auto op = std::make_unique<Dequantize>();
    op->layout.axis = axis;
    std::vector<Value*> inputs{&x, &list(scale), zero_point};
    if (zero_point == nullptr) inputs.pop_back();
    return add(std::move(op), std::move(inputs));
  }
  Value& zeros(DataType type, int64_t count) {
    Tensor t(type, {count});
    std::memset(t.mutable_data<uint8_t>(), 0, t.bytes());
    return network.add_weight(t);
  }
  /// To another type than float32, of one scale.
  Value& dequantize_to(DataType type, Value& x, float scale) {
    auto op = std::make_unique<Dequantize>();
    op->to = type;
    return add(std::move(op), {&x, &list({scale})});
  }
  /// Quantised and back.
  Value& through(Value& x, DataType type, float scale, int zero_point) {
    return dequantize(quantize(x, type, scale, zero_point), {scale}, &zero(type, zero_point));
  }
  Value& convolution_with(Value& x, Value& kernel, int64_t output_channels, Value* bias) {
    auto op = std::make_unique<Convolution>();
    op->output_channels = output_channels;
    op->kernel = {3, 3};
    op->stride = op->dilation = {1, 1};
    op->pre_padding = op->post_padding = {1, 1};
    std::vector<Value*> inputs{&x, &kernel, bias};
    if (bias == nullptr) inputs.pop_back();
    return add(std::move(op), std::move(inputs));
  }
};

/// The kinds of all layers, in order of execution.
inline std::vector<std::string> kinds(const Network& network) {
  std::vector<std::string> names;
  for (const Node* node : network.sorted()) names.emplace_back(node->op->name());
  return names;
}

/// After the products of dequantized tensors became products of integers.
inline std::unique_ptr<Network> with_quantized_products(const Network& network) {
  auto copy = clone(network);
  copy->infer();
  auto patch = quantized_products(*copy, FusingTarget());
  std::move(*patch).apply(*copy);
  return copy;
}

}  // namespace tenon::testing
