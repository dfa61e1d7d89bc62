// A context of an engine, as calls use it one after the other.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <optional>
#include <vector>

#include "array.h"
#include "gpu_work.h"
#include "ports.h"

namespace tenon::python {

/// Gives an output the engine's memory for it: that of its own, or what a call says.
class Output final : public nvinfer1::IOutputAllocator {
 public:
  explicit Output(bool on_gpu) : on_gpu_(on_gpu) {}

  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t alignment,
                              cudaStream_t) noexcept override;
  void notifyShape(const char*, const nvinfer1::Dims& shape) noexcept override { shape_ = shape; }

  /// The next run writes to these bytes, and fails if it needs another number of them.
  void use(void* data, size_t bytes) { set(data, bytes, true); }
  /// The next run writes to memory of its own.
  void use_own() { set(nullptr, 0, false); }
  /// What the last run said; -1 dimensions if it did not come to that.
  const nvinfer1::Dims& shape() const { return shape_; }
  /// The memory of its own: the host's, or what of a GPU's the next run uses again.
  Memory take() { return std::move(memory_); }
  const void* on_gpu() const { return buffer_.data(); }

 private:
  void set(void* data, size_t bytes, bool is_given) {
    data_ = data;
    bytes_ = bytes;
    is_given_ = is_given;
    shape_.nbDims = -1;
  }

  const bool on_gpu_;
  bool is_given_ = false;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Memory memory_;
  GpuBuffer buffer_;
  nvinfer1::Dims shape_{};
};

/// A context and what was set on it last. One call at a time has it.
struct Lane {
  std::unique_ptr<nvinfer1::IExecutionContext> context;
  std::vector<nvinfer1::Dims> shapes;  // of inputs
  std::vector<void*> addresses;        // of all
  std::vector<std::unique_ptr<Output>> outputs;
  std::optional<GpuWork> gpu;  // goes first, as it waits for the work that uses the others

  void set_address(const Port& port, size_t index, void* data) {
    if (data != addresses[index]) context->setTensorAddress(port.name.c_str(), data);
    addresses[index] = data;
  }
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
