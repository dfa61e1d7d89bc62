// Layers that run kernels which plugins use too (kernels/tenon/kernels).
#pragma once

#include <functional>
#include <stdexcept>

#include "backend/target.h"
#include "base/error.h"
#include "tenon/plugin/device.h"

namespace tenon::cpu {

/// Calls body(), and throws the errors of shared kernels as the engine's.
template <class F> auto translated(const F& body) {
  try {
    return body();
  } catch (const std::invalid_argument& e) {
    fail(ErrorCode::kINVALID_ARGUMENT, "{}", e.what());
  }
}

/// What a shared kernel does for certain shapes.
class SharedExecution final : public Execution {
 public:
  using Run = std::function<void(const kit::Device& device, const RunArguments& arguments)>;
  SharedExecution(size_t scratch_bytes, Run run)
      : scratch_bytes_(scratch_bytes), run_(std::move(run)) {}

  size_t scratch_bytes() const override { return scratch_bytes_; }
  void run(const RunArguments& arguments) override {
    kit::Device device;
    device.workspace = arguments.scratch;
    translated([&] { run_(device, arguments); });
  }

 private:
  size_t scratch_bytes_;
  Run run_;
};

/// A kernel whose executions `prepare` makes; it has no state.
template <class Op> class SharedKernel final : public Kernel {
 public:
  using Prepare = SharedExecution (*)(const Op& op, std::span<const TensorSpec> inputs,
                                      const TensorSpec& output);
  SharedKernel(const Op& op, Prepare prepare) : op_(op), prepare_(prepare) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return translated(
        [&] { return std::make_unique<SharedExecution>(prepare_(op_, inputs, outputs[0])); });
  }

 private:
  Op op_;
  Prepare prepare_;
};

}  // namespace tenon::cpu
