// Weights that lie in the host's memory, each copied to the device before the step that reads it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/load_steps.h"
#include "plan/plan.h"
#include "run/device_memory.h"

namespace tenon {

class Engine;

/// Which weights of a plan are streamed. Those can be that kernels alone read, and only on the
/// device: not a plugin's, which may keep an address, and not those of loops and conditionals.
struct WeightStreaming {
  /// A weight that a step reads, in the memory that the step's weights are copied to.
  struct Use {
    int32_t weight;
    int64_t offset;  // in bytes
    int32_t input;   // of the step; -1 for one of the kernel's packed constants
    int32_t packed;  // of these; -1 for an input
  };
  std::vector<std::vector<Use>> steps;  // what each step streams
  std::vector<bool> is_streamed;        // per weight
  int64_t streamable = 0;               // bytes of all that can be streamed
  int64_t resident = 0;                 // of these, bytes that lie on the device
  int64_t step_bytes = 0;               // what a step streams at most

  bool is_on() const { return step_bytes > 0; }
};

/// What a weight takes on a device.
int64_t aligned_bytes(const Tensor& weight);

/// Streams what is beyond `budget` bytes of streamable weights on the device: the steps that come
/// first keep theirs, as nothing runs yet that copies could go on beside.
WeightStreaming stream_weights(const Plan& plan, std::span<const LoadedStep> steps, int64_t budget);

/// The streamed weights of one context's runs, in memory for those of two steps: while one runs,
/// the next one's are copied, in a stream of their own.
class StepWeights {
 public:
  /// Throws Error where there is no memory for them.
  explicit StepWeights(const Engine& engine);
  /// Waits for copies.
  ~StepWeights();
  StepWeights(const StepWeights&) = delete;
  StepWeights& operator=(const StepWeights&) = delete;

  /// What was put into the caller's stream before goes first.
  void begin(Stream* main);
  /// The step's stream waits for its weights, whose addresses replace those of its inputs.
  /// @return the kernel's packed constants.
  std::span<const void* const> before(size_t step, std::span<const void*> inputs, Stream* stream);
  /// What is put into the stream from now on comes after the step: the next one's are copied.
  void after(size_t step, Stream* stream);

 private:
  bool streams(size_t step) const;
  std::byte* slot(size_t index) const;
  void copy(size_t index);

  const Engine& engine_;
  DeviceMemory memory_;
  std::vector<size_t> order_;                     // steps that stream, as they run
  std::vector<size_t> indices_;                   // in `order_`, per step
  std::vector<std::vector<const void*>> packed_;  // per index
  Stream* stream_ = nullptr;
  Event *begin_ = nullptr, *copied_[2] = {}, *over_[2] = {};  // of the slots' steps
};

}  // namespace tenon
