// What the tests of kernels share: a layer with its inputs, run against the reference.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "backend/layouts_testing.h"
#include "backend/target.h"
#include "base/error.h"
#include "base/half.h"
#include "base/parallel.h"
#include "network/network.h"
#include "ops/support/pointwise_program.h"

namespace tenon {

/// What a program of tests is for. Suites run in those of every target; each defines it once.
struct Tested {
  const Target& target;
  std::span<const DataType> floats;  // that kernels of its own compute with
  std::span<const Layout> layouts;   // of planes with channels
  /// Factor of error bounds, which are those of fused multiply-adds: 2 without them, since each
  /// product is rounded before its sum is.
  double rounding = 1;
  /// Whether layers of the suites may be left to the reference, which on a device is a wait.
  bool leaves_some_to_reference = false;
};
const Tested& tested();

/// One input of a layer under test.
struct TestInput {
  std::optional<Tensor> tensor;  // none: left out
  bool is_constant = false;
  Layout layout = Layout::kLinear;                 // in which it arrives
  std::shared_ptr<const Folded> folded = nullptr;  // what a constant was dequantized from
};

/// Steps of a PointwiseProgram.
inline PointwiseStep activation(nvinfer1::ActivationType type, int32_t a, float alpha = 0,
                                float beta = 0) {
  return {PointwiseStep::Family::kActivation, static_cast<int32_t>(type), a, -1, alpha, beta};
}
inline PointwiseStep binary(nvinfer1::ElementWiseOperation operation, int32_t a, int32_t b) {
  return {PointwiseStep::Family::kElementWise, static_cast<int32_t>(operation), a, b};
}

inline Tensor random_tensor(const Shape& shape, uint32_t seed, float low = -1, float high = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  Tensor t(DataType::kFLOAT, shape);
  for (int64_t i = 0; i < t.count(); ++i) t.mutable_data<float>()[i] = uniform(random);
  return t;
}

inline TestInput data(const Shape& shape, uint32_t seed = 1, Layout layout = Layout::kLinear) {
  return {random_tensor(shape, seed), false, layout};
}
inline TestInput constant(const Shape& shape, uint32_t seed = 2) {
  return {random_tensor(shape, seed), true, Layout::kLinear};
}
/// The same numbers as far as another type of floats holds them.
inline TestInput as_type(DataType type, TestInput in) {
  if (!in.tensor || type == in.tensor->type()) return in;
  Tensor t(type, in.tensor->shape());
  for (int64_t i = 0; i < t.count(); ++i) {
    const float x = in.tensor->data<float>()[i];
    if (type == DataType::kHALF)
      t.mutable_data<Half>()[i] = static_cast<Half>(x);
    else
      t.mutable_data<BFloat16>()[i] = BFloat16(x);
  }
  return {t, in.is_constant, in.layout};
}

/// Any elements of an integer or boolean type.
template <class T> TestInput integers(DataType type, const Shape& shape, std::vector<T> values) {
  return {Tensor::of<T>(type, shape, values), false, Layout::kLinear};
}
inline TestInput absent() {
  return {};
}

/// The answer of the candidate of that name, as a build of a plan has it.
inline Offer offer_of(const Target& target, std::string_view name, const KernelRequest& request) {
  for (const Candidate& candidate : target.candidates(request.op)) {
    if (candidate.name != name) continue;
    Offer offer = candidate.offer(request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) {
      (*kernel)->name = name;
      complete(**kernel, request);
    }
    return offer;
  }
  return "no such candidate";
}

/// A layer with its inputs, the shapes of whose outputs the network's own inference finds.
class LayerTest {
 public:
  LayerTest(const Op& op, std::vector<TestInput> inputs, const Target& target = tested().target)
      : target_(target), op_(op.clone()), inputs_(std::move(inputs)) {
    infer();
  }

  const Shape& output_shape() const { return outputs_[0].shape; }
  const Kernel& kernel() const { return *kernel_; }
  std::span<const Candidate> candidates() const { return target_.candidates(*op_); }

  /// Kernels may round what they multiply to bfloat16.
  void allow_bf16() { bf16_ = true; }

  /// Takes the candidate of that name; the refusal when it declines.
  std::string offer(std::string_view name, CodeCache* code_cache = nullptr) {
    const auto specs = specs_as_they_arrive();
    const auto constants = constants_of();
    std::vector<const Folded*> folded;
    for (const TestInput& in : inputs_) folded.push_back(in.folded.get());
    KernelRequest request{*op_, specs, outputs_, constants, false, code_cache};
    request.bf16 = bf16_;
    request.folded = folded;
    Offer offer = offer_of(target_, name, request);
    if (auto* reason = std::get_if<std::string>(&offer)) return *reason;
    kernel_ = std::move(std::get<std::unique_ptr<Kernel>>(offer));
    return "";
  }

  /// Other inputs for the kernel at hand: what a context does at other shapes.
  void set_inputs(std::vector<TestInput> inputs) {
    inputs_ = std::move(inputs);
    infer();
  }

  /// What the kernel computes: the first output, or all of them.
  Tensor run() { return run(*kernel_); }
  Tensor run(const Kernel& kernel) { return std::move(run_all(kernel)[0]); }
  std::vector<Tensor> run_all() { return run_all(*kernel_); }

  std::vector<Tensor> run_all(const Kernel& kernel) {
    std::vector<TensorSpec> specs = specs_as_they_arrive(), outputs = outputs_;
    for (size_t i = 0; i < specs.size(); ++i) specs[i].layout = kernel.input_layouts[i];
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].layout = kernel.output_layouts[i];
    const auto execution = kernel.prepare(specs, outputs);
    const Device& device = target_.device();
    std::vector<AlignedBuffer> buffers;
    std::vector<DeviceBuffer> memory;
    const auto allocate = [&](size_t bytes) {
      memory.emplace_back(device, std::max<size_t>(bytes, 1));
      return memory.back().data();
    };
    const auto upload = [&](const void* data, size_t bytes) {
      void* address = allocate(bytes);
      device.copy_in(address, data, bytes, nullptr);
      return address;
    };
    std::vector<const void*> addresses, packed;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const bool given = inputs_[i].tensor && !kernel.input_is_packed[i];
      buffers.push_back(given ? to_layout(*inputs_[i].tensor, specs[i].layout) : AlignedBuffer{});
      const void* data = buffers.back().data();
      if (given && !kernel.input_on_host[i])
        data = upload(data, storage_bytes(specs[i].type, specs[i].shape, specs[i].layout));
      addresses.push_back(data);
    }
    for (const Tensor& t : kernel.packed) packed.push_back(upload(t.data(), t.bytes()));

    std::vector<void*> results(outputs.size(), nullptr);  // null: the run says how large it is
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!is_data_dependent(outputs_[i])) results[i] = allocate(bytes_in(outputs[i]));
    std::vector<void*> addresses_out = results;
    const AllocateOutput allocate_output = [&](int i, const Shape& shape) {
      const auto output = static_cast<size_t>(i);
      outputs[output].shape = shape;
      return addresses_out[output] = allocate(bytes_in(outputs[output]));
    };
    void* scratch = allocate(execution->scratch_bytes());
    // Twice: nothing may be left over from the first run.
    for (int k = 0; k < 2; ++k) {
      for (size_t i = 0; i < results.size(); ++i) {
        if (results[i] == nullptr) continue;
        const std::vector<std::byte> nan(bytes_in(outputs[i]), std::byte{0xff});  // of every kind
        device.copy_in(results[i], nan.data(), nan.size(), nullptr);
      }
      if (const int alias = kernel.aliased_input; alias >= 0) {
        device.copy_in(results[0], buffers[static_cast<size_t>(alias)].data(), bytes_in(outputs[0]),
                       nullptr);
        addresses[static_cast<size_t>(alias)] = results[0];
      }
      in_arena([&] {
        execution->run({addresses, results, scratch, nullptr, &allocate_output, packed});
      });
    }
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const AlignedBuffer result{allocate_aligned(bytes_in(outputs[i]))};
      device.copy_out(result.data(), addresses_out[i], bytes_in(outputs[i]), nullptr);
      check_padding(result.memory.get(), outputs[i]);
      tensors.push_back(from_layout(result.data(), outputs[i]));
    }
    return tensors;
  }

  Tensor reference() const { return std::move(all_references()[0]); }

  std::vector<Tensor> all_references() const {
    std::vector<TensorView> in, out;
    for (const TestInput& i : inputs_) in.push_back(i.tensor ? view_of(*i.tensor) : TensorView{});
    std::vector<Tensor> results;
    for (const TensorSpec& o : outputs_)
      results.push_back(is_data_dependent(o) ? Tensor() : Tensor(o.type, o.shape));
    const AllocateOutput allocate = [&](int i, const Shape& shape) {
      Tensor& t = results[static_cast<size_t>(i)];
      t = Tensor(outputs_[static_cast<size_t>(i)].type, shape);
      return t.mutable_data<void>();
    };
    for (size_t i = 0; i < outputs_.size(); ++i)
      out.push_back({is_data_dependent(outputs_[i]) ? nullptr : results[i].mutable_data<void>(),
                     outputs_[i].type, outputs_[i].shape});
    op_->reference({in, out, &allocate});
    return results;
  }

  /// What a plan would keep of the kernel, at addresses of its own.
  StoredKernel stored() const {
    StoredKernel s = kernel_->store();
    for (Tensor& t : s.packed)
      t = Tensor::of<std::byte>(t.type(), t.shape(), {t.data<std::byte>(), t.bytes()});
    return s;
  }

  std::unique_ptr<Kernel> load(const StoredKernel& stored) const {
    std::vector<TensorSpec> specs = specs_as_they_arrive(), outputs = outputs_;
    for (size_t i = 0; i < specs.size(); ++i) specs[i].layout = kernel_->input_layouts[i];
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].layout = kernel_->output_layouts[i];
    const std::vector<const Tensor*> none(inputs_.size(), nullptr);
    return load_kernel(target_, kernel_->name, {*op_, specs, outputs, none}, stored);
  }

 private:
  void infer() {
    Network network;
    std::vector<Value*> values;
    for (const TestInput& in : inputs_)
      values.push_back(in.tensor ? &network.add_weight(*in.tensor) : nullptr);
    Node& node = network.add_node(op_->clone(), values);
    network.infer(node);
    outputs_.clear();
    for (const Value* v : node.outputs) {
      Shape shape;
      for (const Dim d : v->dims) shape.push_back(d->is_integer_constant() ? d->value.integer : -1);
      outputs_.push_back({v->type, Layout::kLinear, shape, true});
    }
  }

  static bool is_data_dependent(const TensorSpec& output) {
    return std::find(output.shape.begin(), output.shape.end(), -1) != output.shape.end();
  }
  static size_t bytes_in(const TensorSpec& t) { return storage_bytes(t.type, t.shape, t.layout); }

  std::vector<TensorSpec> specs_as_they_arrive() const {
    std::vector<TensorSpec> specs;
    for (const TestInput& in : inputs_)
      specs.push_back(in.tensor ? TensorSpec{in.tensor->type(), in.layout, in.tensor->shape(), true}
                                : TensorSpec{DataType::kFLOAT, Layout::kLinear, {}, false});
    return specs;
  }

  std::vector<const Tensor*> constants_of() const {
    std::vector<const Tensor*> constants;
    for (const TestInput& in : inputs_) constants.push_back(in.is_constant ? &*in.tensor : nullptr);
    return constants;
  }

  static void check_padding(const std::byte* memory, const TensorSpec& output) {
    const int64_t elements = storage_elements(output.shape, output.layout);
    if (elements == output.shape.volume()) return;
    std::vector<bool> used(static_cast<size_t>(elements), false);
    for_each_index(output.shape, [&](int64_t, const Shape& index) {
      used[static_cast<size_t>(offset_of(output.shape, output.layout, index))] = true;
    });
    const size_t bytes = bytes_of(output.type, 1);
    for (size_t i = 0; i < used.size() * bytes; ++i)
      ASSERT_TRUE(used[i / bytes] || memory[i] == std::byte{0})
          << "padding element " << i / bytes << " is not 0";
  }

  const Target& target_;
  std::unique_ptr<Op> op_;
  std::vector<TestInput> inputs_;
  bool bf16_ = false;
  std::vector<TensorSpec> outputs_;  // in rows; -1 where the run says how large they are
  std::unique_ptr<Kernel> kernel_;
};

/// Equal up to `relative` of the largest expected magnitude: what reordered sums of floats differ
/// by.
inline void expect_close(const Tensor& actual, const Tensor& expected, double relative = 2e-6) {
  ASSERT_EQ(actual.shape(), expected.shape());
  ASSERT_EQ(actual.type(), expected.type());
  const auto actual_numbers = actual.numbers(), expected_numbers = expected.numbers();
  double largest = 1e-30, worst = 0;
  size_t at = 0;
  for (size_t index = 0; index < actual_numbers.size(); ++index) {
    const double e = expected_numbers[index], a = actual_numbers[index];
    largest = std::max(largest, std::abs(e));
    const double error = std::isnan(a) != std::isnan(e) ? INFINITY : a == e ? 0 : std::abs(a - e);
    if (error > worst) {
      worst = error;
      at = index;
    }
  }
  EXPECT_LE(worst, relative * largest * tested().rounding)
      << "element " << at << " is " << actual_numbers[at] << ", expected " << expected_numbers[at];
}

inline void expect_identical(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.type(), b.type());
  const auto [at, other] =
      std::mismatch(a.data<std::byte>(), a.data<std::byte>() + a.bytes(), b.data<std::byte>());
  if (other == b.data<std::byte>() + b.bytes()) return;
  const auto bit = static_cast<size_t>(at - a.data<std::byte>()) * 8;
  const size_t i = bit / static_cast<size_t>(bits_of(a.type()));
  ADD_FAILURE() << "the bits differ: element " << i << " is " << a.numbers()[i] << ", expected "
                << b.numbers()[i];
}

/// All outputs of the kernel at hand are `expected` within `tolerance` (0: the same bits), also
/// when it is loaded from a plan.
inline void expect_outputs(LayerTest& test, const std::vector<Tensor>& expected,
                           double tolerance = 0) {
  for (const bool is_loaded : {false, true}) {
    const std::vector<Tensor> found =
        is_loaded ? test.run_all(*test.load(test.stored())) : test.run_all();
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(fmt::format("output {}{}", i, is_loaded ? ", loaded" : ""));
      if (tolerance == 0)
        expect_identical(found[i], expected[i]);
      else
        expect_close(found[i], expected[i], tolerance);
    }
  }
}

/// The candidate of that name takes the layer, and gives the reference's outputs.
inline void expect_as_reference(LayerTest& test, std::string_view candidate, double tolerance = 0) {
  ASSERT_EQ(test.offer(candidate), "");
  expect_outputs(test, test.all_references(), tolerance);
}

inline void expect_as_reference(const Op& op, std::vector<TestInput> inputs,
                                std::string_view candidate, double tolerance = 0) {
  LayerTest test(op, std::move(inputs));
  expect_as_reference(test, candidate, tolerance);
}

/// Calls `check` for each candidate that takes the layer, with its kernel at hand. The last of the
/// list, which runs the reference, counts only where no other takes the layer.
template <class Check> void for_each_candidate(LayerTest& test, Check&& check) {
  bool is_taken = false;
  const auto candidates = test.candidates();
  for (const Candidate& candidate : candidates) {
    const bool is_last = &candidate == &candidates.back();
    if ((is_last && is_taken) || !test.offer(candidate.name).empty()) continue;
    SCOPED_TRACE(candidate.name);
    EXPECT_TRUE(!is_last || tested().leaves_some_to_reference);
    is_taken = true;
    check();
  }
  EXPECT_TRUE(is_taken);
}

/// Every candidate that takes the layer gives the reference's outputs.
inline void expect_as_reference(const Op& op, std::vector<TestInput> inputs, double tolerance = 0) {
  LayerTest test(op, std::move(inputs));
  const std::vector<Tensor> expected = test.all_references();
  for_each_candidate(test, [&] { expect_outputs(test, expected, tolerance); });
}

/// The kernel that the layer has gives the same bits with each of these numbers of threads.
inline void expect_identical_with(LayerTest& test, std::initializer_list<int> threads) {
  const int before = thread_count();
  const Tensor expected = test.run();
  for (const int number : threads) {
    set_thread_count(number);
    expect_identical(test.run(), expected);
  }
  set_thread_count(before);
}

}  // namespace tenon
