// What the tests of kernels share: layouts element by element, and a run against the reference.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "base/parallel.h"
#include "network/network.h"
#include "ops/pointwise_program.h"
#include "target/target.h"

namespace tenon {

/// What a program of tests is for. Suites run in those of every target; each defines it once.
struct Tested {
  const Target& target;
  std::span<const DataType> floats;  // that kernels of its own compute with
  std::span<const Layout> layouts;   // of planes with channels
};
const Tested& tested();

/// One input of a layer under test.
struct TestInput {
  std::optional<Tensor> tensor;  // none: left out
  bool is_constant = false;
  Layout layout = Layout::kLinear;  // in which it arrives
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

/// Where an element lies, straight from the definition of the layouts.
inline int64_t offset_of(const Shape& shape, Layout layout, const Shape& index) {
  const int64_t channels = shape.rank() > 1 ? shape[1] : 1;
  int64_t plane = 1, position = 0;
  for (int i = 2; i < shape.rank(); ++i) {
    plane *= shape[i];
    position = position * shape[i] + index[i];
  }
  const int64_t n = index[0], c = shape.rank() > 1 ? index[1] : 0;
  if (layout == Layout::kLinear) return (n * channels + c) * plane + position;
  if (layout == Layout::kChannelsLast) return (n * plane + position) * channels + c;
  const int64_t block = channel_block(layout), groups = (channels + block - 1) / block;
  return ((n * groups + c / block) * plane + position) * block + c % block;
}

template <class Body> void for_each_index(const Shape& shape, Body&& body) {
  const int64_t count = shape.volume();
  const Shape strides = shape.strides();
  for (int64_t i = 0; i < count; ++i) {
    Shape index = shape;
    for (int a = 0; a < shape.rank(); ++a) index[a] = i / strides[a] % shape[a];
    body(i, index);
  }
}

/// Memory of a tensor in some layout.
using Buffer = std::vector<float>;

struct AlignedBuffer {
  std::shared_ptr<std::byte> memory;
  float* data() const { return reinterpret_cast<float*>(memory.get()); }
};

inline AlignedBuffer to_layout(const Tensor& t, Layout layout) {
  const size_t bytes = bytes_of(t.type(), 1), all = storage_bytes(t.type(), t.shape(), layout);
  AlignedBuffer b{allocate_aligned(all)};
  if (layout == Layout::kLinear) {
    std::memcpy(b.memory.get(), t.data(), all);
    return b;
  }
  std::memset(b.memory.get(), 0, all);
  for_each_index(t.shape(), [&](int64_t i, const Shape& index) {
    const auto to = static_cast<size_t>(offset_of(t.shape(), layout, index));
    std::memcpy(b.memory.get() + to * bytes, t.data<std::byte>() + static_cast<size_t>(i) * bytes,
                bytes);
  });
  return b;
}

inline Tensor from_layout(const void* memory, const TensorSpec& spec) {
  Tensor t(spec.type, spec.shape);
  if (spec.layout == Layout::kLinear) {
    std::memcpy(t.mutable_data<std::byte>(), memory, t.bytes());
    return t;
  }
  const size_t bytes = bytes_of(spec.type, 1);
  for_each_index(spec.shape, [&](int64_t i, const Shape& index) {
    const auto from = static_cast<size_t>(offset_of(spec.shape, spec.layout, index));
    std::memcpy(t.mutable_data<std::byte>() + static_cast<size_t>(i) * bytes,
                static_cast<const std::byte*>(memory) + from * bytes, bytes);
  });
  return t;
}

/// A layer with its inputs, whose output shape the network's own inference finds.
class LayerTest {
 public:
  LayerTest(const Op& op, std::vector<TestInput> inputs, const Target& target = tested().target)
      : target_(target), op_(op.clone()), inputs_(std::move(inputs)) {
    infer();
  }

  const Shape& output_shape() const { return output_.shape; }
  const Kernel& kernel() const { return *kernel_; }

  /// Takes the candidate of that name; the refusal when it declines.
  std::string offer(std::string_view name) {
    for (const Candidate& c : target_.candidates(*op_)) {
      if (c.name != name) continue;
      const auto specs = specs_as_they_arrive();
      const auto constants = constants_of();
      Offer offer = c.offer({*op_, specs, {&output_, 1}, constants});
      if (auto* reason = std::get_if<std::string>(&offer)) return *reason;
      kernel_ = std::move(std::get<std::unique_ptr<Kernel>>(offer));
      complete(*kernel_, {*op_, specs, {&output_, 1}, constants});
      kernel_->name = name;
      return "";
    }
    return "no such candidate";
  }

  /// Other inputs for the kernel at hand: what a context does at other shapes.
  void set_inputs(std::vector<TestInput> inputs) {
    inputs_ = std::move(inputs);
    infer();
  }

  Tensor run() { return run(*kernel_); }

  Tensor run(const Kernel& kernel) {
    std::vector<TensorSpec> specs = specs_as_they_arrive();
    for (size_t i = 0; i < specs.size(); ++i) specs[i].layout = kernel.input_layouts[i];
    TensorSpec output = output_;
    output.layout = kernel.output_layouts[0];
    const auto execution = kernel.prepare(specs, {&output, 1});
    const Device& device = target_.device();
    std::vector<AlignedBuffer> buffers;
    std::vector<DeviceBuffer> memory;
    const auto upload = [&](const void* data, size_t bytes) {
      memory.emplace_back(device, std::max<size_t>(bytes, 1));
      if (data != nullptr) device.copy_in(memory.back().data(), data, bytes, nullptr);
      return memory.back().data();
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
    const size_t bytes = storage_bytes(output.type, output.shape, output.layout);
    const AlignedBuffer result{allocate_aligned(bytes)};
    void* address = upload(nullptr, bytes);
    void* scratch = upload(nullptr, execution->scratch_bytes());
    // Twice: nothing may be left over from the first run.
    for (int i = 0; i < 2; ++i) {
      std::memset(result.data(), 0xff, bytes);  // NaNs of every kind
      device.copy_in(address, result.data(), bytes, nullptr);
      if (const int alias = kernel.aliased_input; alias >= 0) {
        device.copy_in(address, buffers[static_cast<size_t>(alias)].data(), bytes, nullptr);
        addresses[static_cast<size_t>(alias)] = address;
      }
      in_arena(
          [&] { execution->run({addresses, {&address, 1}, scratch, nullptr, nullptr, packed}); });
    }
    device.copy_out(result.data(), address, bytes, nullptr);
    check_padding(result.memory.get(), output);
    return from_layout(result.data(), output);
  }

  Tensor reference() const {
    std::vector<TensorView> views;
    for (const TestInput& in : inputs_) {
      TensorView v = in.tensor ? view_of(*in.tensor) : TensorView{};
      views.push_back(v);
    }
    Tensor out(output_.type, output_.shape);
    const TensorView view = view_of(out);
    op_->reference({views, {&view, 1}});
    return out;
  }

  /// What a plan would keep of the kernel, at addresses of its own.
  StoredKernel stored() const {
    StoredKernel s = kernel_->store();
    for (Tensor& t : s.packed)
      t = Tensor::of<std::byte>(t.type(), t.shape(), {t.data<std::byte>(), t.bytes()});
    return s;
  }

  std::unique_ptr<Kernel> load(const StoredKernel& stored) const {
    auto specs = specs_as_they_arrive();
    for (size_t i = 0; i < specs.size(); ++i) specs[i].layout = kernel_->input_layouts[i];
    TensorSpec output = output_;
    output.layout = kernel_->output_layouts[0];
    const std::vector<const Tensor*> none(inputs_.size(), nullptr);
    return load_kernel(target_, kernel_->name, {*op_, specs, {&output, 1}, none, &stored});
  }

 private:
  void infer() {
    Network network;
    std::vector<Value*> values;
    for (const TestInput& in : inputs_)
      values.push_back(in.tensor ? &network.add_weight(*in.tensor) : nullptr);
    Node& node = network.add_node(op_->clone(), values);
    network.infer(node);
    Shape shape;
    for (const Dim d : node.outputs[0]->dims) shape.push_back(d->value.integer);
    output_ = {node.outputs[0]->type, Layout::kLinear, shape, true};
  }

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
  TensorSpec output_;
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
  EXPECT_LE(worst, relative * largest)
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
