// Layers with several outputs, or with extents that only running tells, against their reference.
#pragma once

#include "target/cuda/cuda_target.h"
#include "target/testing.h"

namespace tenon {

/// A layer at hand, whose outputs are compared.
class OutputsTest {
 public:
  OutputsTest(const Op& op, std::vector<TestInput> inputs)
      : op_(op.clone()), inputs_(std::move(inputs)) {
    Network network;
    std::vector<Value*> values;
    for (const TestInput& in : inputs_)
      values.push_back(in.tensor ? &network.add_weight(*in.tensor) : nullptr);
    Node& node = network.add_node(op_->clone(), values);
    network.infer(node);
    for (const Value* v : node.outputs) {
      Shape shape;
      for (const Dim d : v->dims) shape.push_back(d->is_integer_constant() ? d->value.integer : -1);
      outputs_.push_back({v->type, Layout::kLinear, shape, true});
    }
  }

  std::vector<Tensor> reference() const {
    std::vector<TensorView> in, out;
    for (const TestInput& i : inputs_) in.push_back(i.tensor ? view_of(*i.tensor) : TensorView{});
    std::vector<Tensor> results = known_outputs();
    const AllocateOutput allocate = [&](int i, const Shape& shape) {
      Tensor& t = results[static_cast<size_t>(i)];
      t = Tensor(outputs_[static_cast<size_t>(i)].type, shape);
      return t.mutable_data<void>();
    };
    for (size_t i = 0; i < outputs_.size(); ++i)
      out.push_back({is_late(i) ? nullptr : results[i].mutable_data<void>(), outputs_[i].type,
                     outputs_[i].shape});
    op_->reference({in, out, &allocate});
    return results;
  }

  /// By the candidate of that name, twice: nothing may be left over from the first run. Its refusal
  /// is a failure.
  std::vector<Tensor> run(std::string_view name) {
    const Target& target = cuda::cuda_target();
    std::vector<TensorSpec> specs;
    std::vector<const Tensor*> constants(inputs_.size(), nullptr);
    for (const TestInput& in : inputs_)
      specs.push_back(in.tensor ? TensorSpec{in.tensor->type(), in.layout, in.tensor->shape(), true}
                                : TensorSpec{DataType::kFLOAT, Layout::kLinear, {}, false});
    const KernelRequest request{*op_, specs, outputs_, constants};
    std::unique_ptr<Kernel> kernel;
    for (const Candidate& c : target.candidates(*op_)) {
      if (c.name != name) continue;
      Offer offer = c.offer(request);
      if (const auto* reason = std::get_if<std::string>(&offer))
        ADD_FAILURE() << *reason;
      else
        kernel = std::move(std::get<std::unique_ptr<Kernel>>(offer));
    }
    if (kernel == nullptr) {
      ADD_FAILURE() << "nothing to run by the name of " << name;
      return known_outputs();
    }
    complete(*kernel, request);
    const auto execution = kernel->prepare(specs, outputs_);
    run_twice(*kernel, *execution, target.device());
    return results_;
  }

 private:
  bool is_late(size_t i) const {
    const Shape& shape = outputs_[i].shape;
    return std::find(shape.begin(), shape.end(), -1) != shape.end();
  }
  std::vector<Tensor> known_outputs() const {
    std::vector<Tensor> results;
    for (size_t i = 0; i < outputs_.size(); ++i)
      results.push_back(is_late(i) ? Tensor() : Tensor(outputs_[i].type, outputs_[i].shape));
    return results;
  }

  void run_twice(const Kernel& kernel, Execution& execution, const Device& device) {
    std::vector<DeviceBuffer> memory(outputs_.size());
    const auto allocate_bytes = [&](size_t bytes) {
      memory.emplace_back(device, std::max<size_t>(bytes, 1));
      return memory.back().data();
    };
    std::vector<const void*> in;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      in.push_back(inputs_[i].tensor ? inputs_[i].tensor->data() : nullptr);
      if (!inputs_[i].tensor || kernel.input_on_host[i]) continue;
      void* data = allocate_bytes(inputs_[i].tensor->bytes());
      device.copy_in(data, in[i], inputs_[i].tensor->bytes(), nullptr);
      in[i] = data;
    }
    void* scratch = allocate_bytes(execution.scratch_bytes());
    results_ = known_outputs();
    const AllocateOutput allocate = [&](int output, const Shape& shape) {
      const auto i = static_cast<size_t>(output);
      results_[i] = Tensor(outputs_[i].type, shape);
      memory[i] = DeviceBuffer(device, std::max<size_t>(results_[i].bytes(), 1));
      return memory[i].data();
    };
    std::vector<void*> out(outputs_.size(), nullptr);
    for (size_t i = 0; i < out.size(); ++i) {
      if (is_late(i)) continue;
      memory[i] = DeviceBuffer(device, std::max<size_t>(results_[i].bytes(), 1));
      out[i] = memory[i].data();
    }
    for (int k = 0; k < 2; ++k) {
      for (size_t i = 0; i < out.size(); ++i) {
        if (out[i] == nullptr) continue;
        std::memset(results_[i].mutable_data<void>(), 0xff, results_[i].bytes());
        device.copy_in(out[i], results_[i].data(), results_[i].bytes(), nullptr);
      }
      execution.run({in, out, scratch, nullptr, &allocate});
    }
    for (size_t i = 0; i < out.size(); ++i)
      device.copy_out(results_[i].mutable_data<void>(), memory[i].data(), results_[i].bytes(),
                      nullptr);
  }

  std::unique_ptr<Op> op_;
  std::vector<TestInput> inputs_;
  std::vector<TensorSpec> outputs_;
  std::vector<Tensor> results_;
};

/// Whether all outputs have the reference's bits.
inline void expect_identical_outputs(const Op& op, std::vector<TestInput> inputs,
                                     std::string_view name) {
  OutputsTest test(op, std::move(inputs));
  const auto expected = test.reference(), found = test.run(name);
  for (size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE(fmt::format("output {}", i));
    expect_identical(found[i], expected[i]);
  }
}

}  // namespace tenon
