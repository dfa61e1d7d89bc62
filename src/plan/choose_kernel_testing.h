// A target for tests, whose kernels sleep, of the choice of kernels.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backend/target.h"
#include "ops/reorder.h"
#include "streams/host_device.h"

namespace tenon::testing {

/// Does nothing for the given time, with that much scratch memory.
class SleepingKernel : public Kernel {
 public:
  SleepingKernel(const char* label, int milliseconds, size_t scratch, const KernelRequest& request)
      : milliseconds_(milliseconds), scratch_(scratch) {
    name = label;
    input_layouts.assign(request.inputs.size(), Layout::kLinear);
    output_layouts.assign(request.outputs.size(), Layout::kLinear);
    input_is_packed.assign(request.inputs.size(), false);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec>,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<Sleep>(milliseconds_, scratch_);
  }

  static inline int runs = 0;  // of all

 protected:
  class Sleep final : public Execution {
   public:
    Sleep(int milliseconds, size_t scratch) : milliseconds_(milliseconds), scratch_(scratch) {}
    size_t scratch_bytes() const override { return scratch_; }
    void run(const RunArguments&) override {
      ++runs;
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds_));
    }

   private:
    int milliseconds_;
    size_t scratch_;
  };
  int milliseconds_;
  size_t scratch_;
};

inline Offer slow_reorder(const KernelRequest& r) {
  auto kernel = std::make_unique<SleepingKernel>("reorder", 16, 100, r);
  kernel->input_layouts = {static_cast<const Reorder&>(r.op).from};
  kernel->output_layouts = {static_cast<const Reorder&>(r.op).to};
  return kernel;
}

/// A target of these candidates, whose reorders take 16 ms.
class FakeTarget final : public Target {
 public:
  explicit FakeTarget(std::vector<Candidate> list) : list_(std::move(list)) {}
  std::string_view name() const override { return "fake"; }
  std::string fingerprint() const override { return "fake machine"; }
  std::string instruction_set() const override { return "fake"; }
  std::span<const Candidate> candidates(const Op& op) const override {
    static const Candidate kReorder[] = {{"reorder", slow_reorder}};
    return op.kind() == layer_type(PrivateLayer::kReorder) ? std::span<const Candidate>(kReorder)
                                                           : list_;
  }
  bool fuses(const Op&, const PointwiseProgram&) const override { return false; }
  const Device& device() const override { return host_device(); }

 private:
  std::vector<Candidate> list_;
};

}  // namespace tenon::testing
