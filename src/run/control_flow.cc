#include "run/control_flow.h"

#include <cstring>

#include "base/error.h"
#include "ops/reference.h"
#include "run/context.h"

namespace tenon {
namespace {

// Takes an output of a body in memory of its own.
class Catcher final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    try {
      memory_ = allocate_aligned(size);
    } catch (const Error&) {
      memory_.reset();
    }
    return memory_.get();
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override {
    shape_ = Shape(dims);
  }
  Tensor take(DataType type) {
    const void* data = memory_.get();
    return Tensor(type, shape_, std::move(memory_), data);
  }

 private:
  std::shared_ptr<std::byte> memory_;
  Shape shape_;
};

class Body {
 public:
  explicit Body(std::shared_ptr<const Engine> engine)
      : context_(engine, true),
        inputs_(static_cast<size_t>(engine->plan().input_count())),
        catchers_(engine->plan().bindings.size() - inputs_) {
    for (size_t i = 0; i < catchers_.size(); ++i)
      context_.set_output_allocator(static_cast<int>(inputs_ + i), &catchers_[i]);
  }

  std::vector<Tensor> run(const std::vector<Tensor>& arguments) {
    require(arguments.size() == inputs_, "the body has {} inputs; it is given {}", inputs_,
            arguments.size());
    for (size_t i = 0; i < inputs_; ++i) {
      const int binding = static_cast<int>(i);
      const PlanTensor& t = context_.engine().binding_tensor(binding);
      require(arguments[i].type() == t.type, "input {} of the body is {}; it is given {}", i,
              name_of(t.type), name_of(arguments[i].type()));
      context_.set_input_shape(binding, arguments[i].shape());
      context_.set_address(binding, const_cast<void*>(arguments[i].data()));
    }
    context_.execute();
    std::vector<Tensor> results;
    for (size_t i = 0; i < catchers_.size(); ++i)
      results.push_back(
          catchers_[i].take(context_.engine().binding_tensor(static_cast<int>(inputs_ + i)).type));
    return results;
  }

 private:
  Context context_;
  size_t inputs_;
  std::vector<Catcher> catchers_;
};

class ControlFlowExecution final : public Execution {
 public:
  ControlFlowExecution(const ControlFlow& layer,
                       std::span<const std::shared_ptr<const Engine>> bodies,
                       std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs)
      : layer_(layer), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    for (const auto& engine : bodies) bodies_.push_back(std::make_unique<Body>(engine));
  }

  void run(const RunArguments& arguments) override {
    std::vector<Tensor> given;
    std::vector<const Tensor*> pointers;
    for (size_t i = 0; i < inputs_.size(); ++i)
      given.emplace_back(inputs_[i].type, inputs_[i].shape, nullptr, arguments.inputs[i]);
    for (size_t i = 0; i < inputs_.size(); ++i)
      pointers.push_back(inputs_[i].present ? &given[i] : nullptr);
    const auto results = layer_.run(pointers, [&](size_t body, const std::vector<Tensor>& list) {
      return with_context("body", [&] { return bodies_.at(body)->run(list); });
    });
    require(results.size() == outputs_.size(), "the bodies make {} outputs; expected {}",
            results.size(), outputs_.size());
    for (size_t i = 0; i < outputs_.size(); ++i) give(i, results[i], arguments);
  }

 private:
  void give(size_t i, const Tensor& result, const RunArguments& arguments) {
    const TensorSpec& expected = outputs_[i];
    require(result.type() == expected.type, "output {} is {}; expected {}", i,
            name_of(result.type()), name_of(expected.type));
    bool late = false, fits = result.shape().rank() == expected.shape.rank();
    for (int axis = 0; fits && axis < expected.shape.rank(); ++axis) {
      late |= expected.shape[axis] < 0;
      fits = expected.shape[axis] < 0 || expected.shape[axis] == result.shape()[axis];
    }
    require(fits, "output {} has shape {}; expected {}", i, result.shape(), expected.shape);
    void* to = late ? (*arguments.allocate_output)(static_cast<int>(i), result.shape())
                    : arguments.outputs[i];
    copy_bytes(to, result.data(), result.bytes());
  }

  const ControlFlow& layer_;
  std::vector<TensorSpec> inputs_, outputs_;
  std::vector<std::unique_ptr<Body>> bodies_;
};

}  // namespace

std::unique_ptr<Execution> make_control_flow(const ControlFlow& layer,
                                             std::span<const std::shared_ptr<const Engine>> bodies,
                                             std::vector<TensorSpec> inputs,
                                             std::vector<TensorSpec> outputs) {
  return std::make_unique<ControlFlowExecution>(layer, bodies, std::move(inputs),
                                                std::move(outputs));
}

}  // namespace tenon
