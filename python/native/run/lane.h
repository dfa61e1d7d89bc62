// A context of an engine, as calls use it one after the other.
#pragma once

#include <NvInfer.h>
#include <tenon/session/context.h>
#include <tenon/session/output.h>

#include <memory>
#include <optional>
#include <vector>

#include "array.h"
#include "gpu_work.h"
#include "ports.h"

namespace tenon::python {

/// Gives an output the engine's memory for it: what a call says, or its own.
class Output final : public session::Output {
 public:
  explicit Output(bool on_gpu) : on_gpu_(on_gpu) {}

  /// Its own memory of the host.
  Memory take() { return std::move(memory_); }
  /// Its own memory of a GPU, which the next run uses again.
  const void* on_gpu() const { return buffer_.data(); }

 private:
  void* own_memory(size_t bytes, size_t alignment) noexcept override;

  const bool on_gpu_;
  Memory memory_;
  session::Memory buffer_{session::Memory::Kind::kDevice};
};

/// A context and what runs in it need. One call at a time has it.
struct Lane {
  std::unique_ptr<session::Context> context;
  std::vector<void*> bindings;  // addresses of all, for runs on the host
  std::vector<std::unique_ptr<Output>> outputs;
  std::optional<GpuWork> gpu;  // goes first, as it waits for the work that uses the others
};

/// The arrays of a call, as the engine sees them.
struct Call {
  std::vector<Bound> bound;
  std::vector<const ArrayView*> inputs;
  std::vector<const ArrayView*> out;   // null: an output without an array of the caller's
  std::optional<Framework> framework;  // of results
  bool results_on_gpu = false;
};

/// What a call that came to its end has made, for each output without an array of the caller's:
/// memory of the host, or an array on a GPU.
struct Made {
  Memory memory;
  nb::object array;
};

/// Runs the engine where its arrays are: on the host. False when the engine failed.
bool run_on_host(Lane& lane, const Ports& ports, const Call& call, std::vector<Made>& made);

/// Runs it on a GPU. Arrays of the host are copied there and back, and the caller waits; without
/// them the work is only put into a stream, that of the arrays.
bool run_on_gpu(Lane& lane, const Ports& ports, const Call& call, GpuPools& pools,
                std::vector<Made>& made);

}  // namespace tenon::python
