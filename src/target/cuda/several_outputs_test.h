// Runs layers with several outputs on the GPU, and their reference.
#pragma once

#include "target/cuda/cuda_target.h"
#include "target/cuda/float_types_test.h"

namespace tenon::cuda {

/// All outputs of a layer are those of the reference within `tolerance` (0: the same bits), also
/// when its kernel is loaded from a plan.
inline void expect_outputs_as_reference(const Op& op, const std::vector<TestInput>& inputs,
                                        std::string_view candidate, double tolerance) {
  Network network;
  std::vector<Value*> values;
  std::vector<TensorSpec> in, out;
  std::vector<TensorView> views, expected_views;
  std::vector<Tensor> expected;
  for (const TestInput& i : inputs) {
    values.push_back(i.tensor ? &network.add_weight(*i.tensor) : nullptr);
    in.push_back(i.tensor ? TensorSpec{i.tensor->type(), Layout::kLinear, i.tensor->shape(), true}
                          : TensorSpec{DataType::kFLOAT, Layout::kLinear, {}, false});
    views.push_back(i.tensor ? view_of(*i.tensor) : TensorView{});
  }
  Node& node = network.add_node(op.clone(), values);
  network.infer(node);
  for (const Value* v : node.outputs) {
    Shape shape;
    for (const Dim d : v->dims) shape.push_back(d->value.integer);
    out.push_back({v->type, Layout::kLinear, shape, true});
    expected.emplace_back(v->type, shape);
  }
  for (const Tensor& t : expected) expected_views.push_back(view_of(t));
  op.reference({views, expected_views});

  const Device& device = cuda_target().device();
  const auto upload = [&](const Tensor& t) {
    DeviceBuffer memory(device, std::max<size_t>(t.bytes(), 1));
    device.copy_in(memory.data(), t.data(), t.bytes(), nullptr);
    return memory;
  };
  const std::vector<const Tensor*> constants(in.size(), nullptr);
  std::optional<StoredKernel> stored;
  for (const bool loaded : {false, true}) {
    const KernelRequest request{op, in, out, constants, loaded ? &*stored : nullptr};
    const auto kernel = load_kernel(cuda_target(), candidate, request);
    stored = kernel->store();
    const auto execution = kernel->prepare(in, out);
    std::vector<DeviceBuffer> memory;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const TestInput& i : inputs) {
      if (i.tensor) memory.push_back(upload(*i.tensor));
      from.push_back(i.tensor ? memory.back().data() : nullptr);
    }
    std::vector<Tensor> found;
    for (const TensorSpec& spec : out) {
      found.emplace_back(spec.type, spec.shape);
      std::memset(found.back().mutable_data<void>(), 0xff, found.back().bytes());  // NaNs
      memory.push_back(upload(found.back()));
      to.push_back(memory.back().data());
    }
    const DeviceBuffer scratch(device, std::max<size_t>(execution->scratch_bytes(), 1));
    execution->run({from, to, scratch.data()});
    for (size_t i = 0; i < out.size(); ++i) {
      SCOPED_TRACE(fmt::format("output {}{}", i, loaded ? ", loaded" : ""));
      device.copy_out(found[i].mutable_data<void>(), to[i], found[i].bytes(), nullptr);
      if (tolerance == 0)
        expect_identical(found[i], expected[i]);
      else
        expect_close(found[i], expected[i], tolerance);
    }
  }
}

}  // namespace tenon::cuda
