// What the tests of convolutions and deconvolutions share.
#pragma once

#include "backend/testing.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"

namespace tenon {

/// A changed copy.
template <class Op> Op with(Op op, auto&& change) {
  change(op);
  return op;
}

/// The same padding before and after the data.
template <class Op = Convolution>
Op sliding(int64_t output_channels, const Shape& kernel, const Shape& stride, const Shape& pad,
           int64_t groups = 1) {
  Op op;
  op.output_channels = output_channels;
  op.kernel = kernel;
  op.stride = stride;
  op.dilation = Shape::filled(kernel.rank(), 1);
  op.pre_padding = op.post_padding = pad;
  op.groups = groups;
  return op;
}

/// Windows of one element.
inline Convolution one_element(int64_t output_channels, const Shape& stride = {1, 1}) {
  return sliding(output_channels, {1, 1}, stride, {0, 0});
}

inline Shape weights_of(Shape outputs_and_inputs, const Shape& kernel) {
  for (const int64_t k : kernel) outputs_and_inputs.push_back(k);
  return outputs_and_inputs;
}
inline Shape weights_of(const Convolution& op, int64_t channels) {
  return weights_of({op.output_channels, channels / op.groups}, op.kernel);
}
inline Shape weights_of(const Deconvolution& op, int64_t channels) {
  return weights_of({channels, op.output_channels / op.groups}, op.kernel);
}

/// Data of that shape, constant weights and, if wanted, a constant bias.
template <class Op>
std::vector<TestInput> inputs_of(const Op& op, const Shape& shape, bool has_bias = true,
                                 Layout layout = Layout::kLinear) {
  std::vector<TestInput> inputs = {data(shape, 1, layout), constant(weights_of(op, shape[1]))};
  if (has_bias) inputs.push_back(constant({op.output_channels}, 3));
  return inputs;
}
template <class Op>
LayerTest layer(const Op& op, const Shape& shape, bool has_bias = true,
                Layout layout = Layout::kLinear) {
  return {op, inputs_of(op, shape, has_bias, layout)};
}

/// A layer that is tested.
template <class Op> struct LayerCase {
  const char* name;
  Op op;
  Shape data;
  bool has_bias = true;
};

/// The kernel takes the layer and equals the reference; so it does after its packed weights went
/// through a plan.
inline void check(LayerTest& test, const char* kernel, double relative) {
  ASSERT_EQ(test.offer(kernel), "");
  const Tensor actual = test.run();
  expect_close(actual, test.reference(), relative);
  const StoredKernel stored = test.stored();
  if (stored.packed.empty()) return;
  const auto loaded = test.load(stored);
  expect_identical(test.run(*loaded), actual);
}

/// What `body` throws; empty if it throws nothing.
inline std::string error_of(auto&& body) {
  try {
    body();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

/// What loading and running the kernel say after `damage` to what a plan keeps of it.
inline std::string error_of_stored(LayerTest& test, auto&& damage) {
  StoredKernel stored = test.stored();
  damage(stored);
  return error_of([&] { test.run(*test.load(stored)); });
}

}  // namespace tenon
