// A small network for the tests of planning and running: two convolutions, a residual sum, a
// reshape whose size is computed from the input's shape.
#pragma once

#include "network/network.h"
#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/elementwise.h"
#include "ops/shuffle.h"
#include "optimize/optimize.h"
#include "plan/compile.h"

namespace tenon::testing {

inline Tensor ramp(const Shape& shape, float step) {
  Tensor t(DataType::kFLOAT, shape);
  auto* x = t.mutable_data<float>();
  for (int64_t i = 0; i < t.count(); ++i) x[i] = static_cast<float>(i % 7 - 3) * step;
  return t;
}

/// Optimises the network in place, then plans it.
inline Plan optimized_plan(Network& n, const Target& target, const BuildOptions& options) {
  n.infer();
  optimize(n, target, {options.log, options.precision, {}});
  return compile(n, target, options);
}

inline Value& convolve(Network& n, Value& x, const char* name, int64_t in, int64_t out) {
  auto op = std::make_unique<Convolution>();
  op->output_channels = out;
  op->kernel = {3, 3};
  op->stride = op->dilation = op->pre_padding = op->post_padding = {1, 1};
  return *n.add_node(
               std::move(op),
               {&x, &n.add_weight(ramp({out, in, 3, 3}, 0.05f)), &n.add_weight(ramp({out}, 0.1f))},
               name)
              .outputs[0];
}

/// Input "image" (N,4,H,W); output "flat" (N, 4*H*W) = reshape(relu(conv(relu(conv(x))) + x)).
inline void make_network(Network& n) {
  Value& x = n.add_input("image", DataType::kFLOAT, {-1, 4, -1, -1});
  auto relu = [&](Value& v, const char* name) -> Value& {
    return *n.add_node(std::make_unique<Activation>(), {&v}, name).outputs[0];
  };
  Value& a = relu(convolve(n, x, "conv1", 4, 4), "relu1");
  Value& b = convolve(n, a, "conv2", 4, 4);
  Value& sum = *n.add_node(std::make_unique<ElementWise>(), {&b, &x}, "add").outputs[0];
  Value& c = relu(sum, "relu2");
  auto reshape = std::make_unique<Shuffle>();
  reshape->has_reshape = true;
  reshape->reshape = {0, -1};
  Value& flat = *n.add_node(std::move(reshape), {&c}, "flatten").outputs[0];
  flat.name = "flat";
  n.mark_output(flat);
  n.infer();
}

inline ProfileRequest profile(const Shape& min, const Shape& opt, const Shape& max) {
  ProfileRequest p;
  p.inputs["image"] = {min, opt, max, {}, {}, {}};
  return p;
}

}  // namespace tenon::testing
