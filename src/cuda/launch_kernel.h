// Kernels that are functions: one prepares for certain shapes, and gives one that launches.
#pragma once

#include <functional>

#include "backend/target.h"
#include "cuda/check.h"

namespace tenon::cuda {

/// What a layer does at certain shapes.
class LaunchExecution final : public Execution {
 public:
  using Run = std::function<void(const RunArguments& arguments)>;
  explicit LaunchExecution(Run run, size_t scratch_bytes = 0)
      : run_(std::move(run)), scratch_bytes_(scratch_bytes) {}

  size_t scratch_bytes() const override { return scratch_bytes_; }
  void run(const RunArguments& arguments) override { run_(arguments); }

 private:
  Run run_;
  size_t scratch_bytes_;
};

/// A kernel whose executions `prepare` makes, for a copy of the op that lives as long as the
/// kernel.
class LaunchKernel final : public Kernel {
 public:
  using Prepare = LaunchExecution (*)(const Op& op, std::span<const TensorSpec> inputs,
                                      std::span<const TensorSpec> outputs);
  LaunchKernel(const Op& op, Prepare prepare) : op_(op.clone()), prepare_(prepare) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<LaunchExecution>(prepare_(*op_, inputs, outputs));
  }

 private:
  std::unique_ptr<Op> op_;
  Prepare prepare_;
};

/// Whether kernels of typed elements (element_types.cuh) have that type: floats of 16 or 32 bits,
/// integers of 8, 32 or 64, booleans.
inline bool has_element_kernels(DataType type) {
  return bits_of(type) >= 8 && type != DataType::kFP8 && type != DataType::kE8M0;
}
/// Floats of 16 or 32 bits.
inline bool is_real_type(DataType type) {
  return has_element_kernels(type) && is_float(type);
}

/// Whether that input was not left out.
inline bool is_given(std::span<const TensorSpec> inputs, size_t i) {
  return i < inputs.size() && inputs[i].present;
}

/// Scratch memory cut into arrays, each aligned to 256 bytes. Without memory it only counts.
class ScratchArrays {
 public:
  explicit ScratchArrays(void* memory = nullptr) : memory_(static_cast<std::byte*>(memory)) {}
  void* bytes(size_t count) {
    void* const first = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (count + 255) / 256 * 256;
    return first;
  }
  template <class T> T* array(int64_t count) {
    return static_cast<T*>(bytes(static_cast<size_t>(count) * sizeof(T)));
  }
  size_t used() const { return used_; }

 private:
  std::byte* memory_;
  size_t used_ = 0;
};

}  // namespace tenon::cuda
