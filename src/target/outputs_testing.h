// Layers with several outputs, or with extents that only running tells, against their reference.
#pragma once

#include "target/testing.h"

namespace tenon {

/// A layer at hand, whose outputs are compared. Its tensors are in rows.
class OutputsTest {
 public:
  OutputsTest(const Op& op, std::vector<TestInput> inputs, const Target& target = tested().target)
      : target_(target), op_(op.clone()), inputs_(std::move(inputs)) {
    Network network;
    std::vector<Value*> values;
    for (const TestInput& in : inputs_) {
      values.push_back(in.tensor ? &network.add_weight(*in.tensor) : nullptr);
      specs_.push_back(in.tensor
                           ? TensorSpec{in.tensor->type(), in.layout, in.tensor->shape(), true}
                           : TensorSpec{DataType::kFLOAT, Layout::kLinear, {}, false});
      constants_.push_back(in.is_constant ? &*in.tensor : nullptr);
    }
    Node& node = network.add_node(op_->clone(), values);
    network.infer(node);
    for (const Value* v : node.outputs) {
      Shape shape;
      for (const Dim d : v->dims) shape.push_back(d->is_integer_constant() ? d->value.integer : -1);
      outputs_.push_back({v->type, Layout::kLinear, shape, true});
    }
  }
  OutputsTest(const OutputsTest&) = delete;

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

  /// Takes the candidate of that name. Throws when it declines.
  void take(std::string_view name, CodeCache* code_cache = nullptr) {
    kernel_ = load_kernel(target_, name,
                          {*op_, specs_, outputs_, constants_, nullptr, false, code_cache});
  }
  const Kernel& kernel() const { return *kernel_; }

  /// Takes the kernel at hand again, as a plan keeps it.
  void reload() {
    stored_ = kernel_->store();
    for (Tensor& t : stored_.packed)  // at addresses of their own
      t = Tensor::of<std::byte>(t.type(), t.shape(), {t.data<std::byte>(), t.bytes()});
    const std::vector<const Tensor*> none(inputs_.size(), nullptr);
    const std::string name = kernel_->name;
    kernel_ = load_kernel(target_, name, {*op_, specs_, outputs_, none, &stored_});
  }

  /// Twice: nothing may be left over from the first run.
  std::vector<Tensor> run() {
    const Device& device = target_.device();
    const auto execution = kernel_->prepare(specs_, outputs_);
    std::vector<DeviceBuffer> memory(outputs_.size());
    const auto allocate_bytes = [&](size_t bytes) {
      memory.emplace_back(device, std::max<size_t>(bytes, 1));
      return memory.back().data();
    };
    const auto upload = [&](const Tensor& t) -> const void* {
      void* data = allocate_bytes(t.bytes());
      device.copy_in(data, t.data(), t.bytes(), nullptr);
      return data;
    };
    std::vector<const void*> in, packed;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto& tensor = inputs_[i].tensor;
      if (!tensor || kernel_->input_is_packed[i])
        in.push_back(nullptr);
      else
        in.push_back(kernel_->input_on_host[i] ? tensor->data() : upload(*tensor));
    }
    for (const Tensor& t : kernel_->packed) packed.push_back(upload(t));
    void* scratch = allocate_bytes(execution->scratch_bytes());
    std::vector<Tensor> results = known_outputs();
    const AllocateOutput allocate = [&](int output, const Shape& shape) {
      const auto i = static_cast<size_t>(output);
      results[i] = Tensor(outputs_[i].type, shape);
      memory[i] = DeviceBuffer(device, std::max<size_t>(results[i].bytes(), 1));
      return memory[i].data();
    };
    std::vector<void*> out(outputs_.size(), nullptr);
    for (size_t i = 0; i < out.size(); ++i) {
      if (is_late(i)) continue;
      memory[i] = DeviceBuffer(device, std::max<size_t>(results[i].bytes(), 1));
      out[i] = memory[i].data();
    }
    for (int k = 0; k < 2; ++k) {
      for (size_t i = 0; i < out.size(); ++i) {
        if (out[i] == nullptr) continue;
        std::memset(results[i].mutable_data<void>(), 0xff, results[i].bytes());  // NaNs
        device.copy_in(out[i], results[i].data(), results[i].bytes(), nullptr);
      }
      in_arena([&] { execution->run({in, out, scratch, nullptr, &allocate, packed}); });
    }
    for (size_t i = 0; i < out.size(); ++i)
      device.copy_out(results[i].mutable_data<void>(), memory[i].data(), results[i].bytes(),
                      nullptr);
    return results;
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

  const Target& target_;
  std::unique_ptr<Op> op_;
  std::vector<TestInput> inputs_;
  std::vector<TensorSpec> specs_, outputs_;
  std::vector<const Tensor*> constants_;  // per input
  StoredKernel stored_;
  std::unique_ptr<Kernel> kernel_;
};

/// All outputs of a layer are those of the reference within `tolerance` (0: the same bits), also
/// when its kernel is loaded from a plan.
inline void expect_outputs_as_reference(const Op& op, std::vector<TestInput> inputs,
                                        std::string_view candidate, double tolerance = 0) {
  OutputsTest test(op, std::move(inputs));
  const std::vector<Tensor> expected = test.reference();
  test.take(candidate);
  for (const bool is_loaded : {false, true}) {
    if (is_loaded) test.reload();
    const std::vector<Tensor> found = test.run();
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(fmt::format("output {}{}", i, is_loaded ? ", loaded" : ""));
      if (tolerance == 0)
        expect_identical(found[i], expected[i]);
      else
        expect_close(found[i], expected[i], tolerance);
    }
  }
}

}  // namespace tenon
