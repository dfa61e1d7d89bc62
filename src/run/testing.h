// What the tests of loops, conditionals and data-dependent sizes share: networks in few words, and
// runs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builder/build_plan.h"
#include "cpu/cpu_target.h"
#include "ops/cast.h"
#include "ops/concatenation.h"
#include "ops/elementwise.h"
#include "ops/shuffle.h"
#include "plan/plan_file.h"
#include "plan/plan_test_network.h"
#include "run/context.h"
#include "streams/host_device.h"

namespace tenon::testing {

using nvinfer1::ElementWiseOperation;

inline Value& add(Network& n, std::unique_ptr<Op> op, std::vector<Value*> inputs,
                  const char* name = "") {
  Value& v = *n.add_node(std::move(op), std::move(inputs), name).outputs[0];
  n.infer();
  return v;
}
inline Value& combine(Network& n, Value& a, Value& b,
                      ElementWiseOperation operation = ElementWiseOperation::kSUM) {
  auto op = std::make_unique<ElementWise>();
  op->operation = operation;
  return add(n, std::move(op), {&a, &b});
}
inline Value& join(Network& n, Value& a, Value& b) {
  return add(n, std::make_unique<Concatenation>(), {&a, &b});
}
inline Value& reshape(Network& n, Value& v, const Shape& shape) {
  auto op = std::make_unique<Shuffle>();
  op->has_reshape = true;
  op->reshape = shape;
  return add(n, std::move(op), {&v});
}
inline Value& to_float(Network& n, Value& v) {
  return add(n, std::make_unique<Cast>(), {&v});
}
inline void finish(Network& n, Value& v, const char* name) {
  v.name = name;
  n.mark_output(v);
  n.infer();
}

// Through a file, which is the same when it is written again.
inline std::shared_ptr<const Engine> engine_of(Network& n, const ProfileRequest& profile = {},
                                               const Target& target = cpu_target()) {
  BuildOptions options;
  options.profiles = {profile};
  const auto bytes = write_plan(build_plan(n, target, options));
  Plan plan = read_plan(bytes, nullptr, "plan");
  EXPECT_EQ(write_plan(plan), bytes);
  return std::make_shared<const Engine>(std::move(plan), target, Log());
}

// Keeps one output.
class Keeper final : public nvinfer1::IOutputAllocator {
 public:
  explicit Keeper(const Device& device = host_device()) : device_(&device) {}
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    if (size > memory_.bytes()) memory_ = DeviceBuffer(*device_, size);
    return memory_.data();
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override {
    shape = Shape(dims);
  }
  std::vector<float> floats() const {
    std::vector<float> values(static_cast<size_t>(shape.volume()));
    device_->copy_out(values.data(), memory_.data(), values.size() * sizeof(float), nullptr);
    return values;
  }
  Shape shape;

 private:
  const Device* device_;
  DeviceBuffer memory_;
};

// A context whose outputs are kept. Inputs are copied to where the engine reads them.
class Runner {
 public:
  explicit Runner(const std::shared_ptr<const Engine>& engine)
      : context(engine, true), copies_(static_cast<size_t>(engine->plan().input_count())) {
    while (copies_.size() + outputs.size() < engine->plan().bindings.size())
      outputs.emplace_back(engine->device());
    for (size_t i = 0; i < outputs.size(); ++i)
      context.set_output_allocator(engine->plan().input_count() + static_cast<int>(i), &outputs[i]);
  }
  template <class T> void input(const char* name, const Shape& shape, std::vector<T>& values) {
    const int binding = context.engine().find_binding(name);
    context.set_input_shape(binding, shape);
    const Engine& engine = context.engine();
    const auto i = static_cast<size_t>(binding);
    if (engine.device().is_host() || engine.plan().bindings[i].is_shape)
      return context.set_address(binding, values.data());
    copies_[i] = DeviceBuffer(engine.device(), values.size() * sizeof(T));
    engine.device().copy_in(copies_[i].data(), values.data(), copies_[i].bytes(), nullptr);
    context.set_address(binding, copies_[i].data());
  }
  std::string error() {
    try {
      context.execute();
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
  Context context;
  std::vector<Keeper> outputs;

 private:
  std::vector<DeviceBuffer> copies_;
};

}  // namespace tenon::testing
