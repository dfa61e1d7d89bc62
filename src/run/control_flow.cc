#include "run/control_flow.h"

#include <algorithm>

#include "base/error.h"
#include "base/host_copy.h"
#include "base/tensor_pool.h"
#include "run/context.h"

namespace tenon {
namespace {

// The memory of a device, by a stream.
class StreamMemory final : public TensorMemory {
 public:
  explicit StreamMemory(const Device& device) : device_(device) {}
  Stream* stream = nullptr;

  std::shared_ptr<std::byte> allocate(size_t bytes) override {
    auto buffer = std::make_shared<DeviceBuffer>(device_, std::max<size_t>(bytes, 1));
    auto* data = static_cast<std::byte*>(buffer->data());
    return {std::move(buffer), data};
  }
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows) override {
    device_.copy_rows(to, to_step, from, from_step, bytes, rows, stream);
  }
  void clear(void* data, size_t bytes) override { device_.clear(data, bytes, stream); }
  void read(void* to, const void* from, size_t bytes) override {
    device_.copy_out(to, from, bytes, stream);
  }
  void write(void* to, const void* from, size_t bytes) override {
    device_.copy_in(to, from, bytes, stream);
  }

 private:
  const Device& device_;
};

// Takes an output of a body in memory of its own.
class Catcher final : public nvinfer1::IOutputAllocator {
 public:
  explicit Catcher(TensorMemory& memory) : pool_(memory) {}
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    try {
      memory_ = pool_.take(size);
    } catch (const std::exception&) {
      memory_.reset();
    }
    return memory_.get();
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override {
    shape_ = Shape(dims);
  }
  Tensor tensor(DataType type) {
    const void* data = memory_.get();
    return Tensor(type, shape_, std::move(memory_), data);
  }

 private:
  TensorPool pool_;
  std::shared_ptr<std::byte> memory_;
  Shape shape_;
};

class Body {
 public:
  Body(std::shared_ptr<const Engine> engine, StreamMemory& memory)
      : memory_(memory),
        context_(engine, true),
        inputs_(static_cast<size_t>(engine->plan().input_count())),
        catchers_(engine->plan().bindings.size() - inputs_, Catcher(memory)),
        results_(catchers_.size()),
        read_(inputs_) {
    for (size_t i = 0; i < catchers_.size(); ++i)
      context_.set_output_allocator(static_cast<int>(inputs_ + i), &catchers_[i]);
  }

  std::span<const Tensor> run(std::span<const Tensor> arguments) {
    require(arguments.size() == inputs_, "the body has {} inputs; it is given {}", inputs_,
            arguments.size());
    for (size_t i = 0; i < inputs_; ++i) {
      const int binding = static_cast<int>(i);
      const PlanTensor& t = context_.engine().binding_tensor(binding);
      require(arguments[i].type() == t.type, "input {} of the body is {}; it is given {}", i,
              name_of(t.type), name_of(arguments[i].type()));
      context_.set_input_shape(binding, arguments[i].shape());
      context_.set_address(binding, const_cast<void*>(address_of(i, arguments[i])));
    }
    if (on_host())
      context_.execute();
    else
      context_.enqueue(memory_.stream);
    for (size_t i = 0; i < catchers_.size(); ++i)
      results_[i] =
          catchers_[i].tensor(context_.engine().binding_tensor(static_cast<int>(inputs_ + i)).type);
    return results_;
  }

 private:
  bool on_host() const { return context_.engine().device().is_host(); }

  // What decides shapes is given on the host.
  const void* address_of(size_t i, const Tensor& argument) {
    if (on_host() || !context_.engine().plan().bindings[i].is_shape) return argument.data();
    return read_[i].read(memory_, argument).data();
  }

  StreamMemory& memory_;
  Context context_;
  size_t inputs_;
  std::vector<Catcher> catchers_;
  std::vector<Tensor> results_;
  std::vector<HostCopy> read_;  // per input
};

class ControlFlowExecution final : public Execution {
 public:
  ControlFlowExecution(const ControlFlow& layer,
                       std::span<const std::shared_ptr<const Engine>> bodies, const Device& device,
                       std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs)
      : device_(device),
        memory_(device),
        runner_(layer.make_runner(memory_)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        given_(inputs_.size()) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      pointers_.push_back(inputs_[i].present ? &given_[i] : nullptr);
    for (const auto& engine : bodies) bodies_.push_back(std::make_unique<Body>(engine, memory_));
  }

  void run(const RunArguments& arguments) override {
    memory_.stream = arguments.stream;
    for (size_t i = 0; i < inputs_.size(); ++i)
      given_[i] = Tensor(inputs_[i].type, inputs_[i].shape, nullptr, arguments.inputs[i]);
    const auto results = runner_->run(pointers_, [&](size_t body, std::span<const Tensor> list) {
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
    bool data_dependent = false, fits = result.shape().rank() == expected.shape.rank();
    for (int axis = 0; fits && axis < expected.shape.rank(); ++axis) {
      data_dependent |= expected.shape[axis] < 0;
      fits = expected.shape[axis] < 0 || expected.shape[axis] == result.shape()[axis];
    }
    require(fits, "output {} has shape {}; expected {}", i, result.shape(), expected.shape);
    void* to = data_dependent ? (*arguments.allocate_output)(static_cast<int>(i), result.shape())
                              : arguments.outputs[i];
    device_.copy(to, result.data(), result.bytes(), arguments.stream);
  }

  const Device& device_;
  StreamMemory memory_;
  std::unique_ptr<ControlFlow::Runner> runner_;
  std::vector<TensorSpec> inputs_, outputs_;
  std::vector<Tensor> given_;
  std::vector<const Tensor*> pointers_;
  std::vector<std::unique_ptr<Body>> bodies_;
};

}  // namespace

std::unique_ptr<Execution> make_control_flow(const ControlFlow& layer,
                                             std::span<const std::shared_ptr<const Engine>> bodies,
                                             const Device& device, std::vector<TensorSpec> inputs,
                                             std::vector<TensorSpec> outputs) {
  return std::make_unique<ControlFlowExecution>(layer, bodies, device, std::move(inputs),
                                                std::move(outputs));
}

}  // namespace tenon
