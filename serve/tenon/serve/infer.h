// Engines that run on tensors.
#ifndef TENON_SERVE_INFER_H
#define TENON_SERVE_INFER_H

#include <NvInferRuntime.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/serve/tensor.h"
#include "tenon/session/context.h"
#include "tenon/session/cuda_graph.h"
#include "tenon/session/engine.h"

namespace tenon::serve {

/// An engine, which any number of Infers share. For all threads.
class EngineContext {
 public:
  /// @param device on which the engine and all that runs it are.
  static Result<std::shared_ptr<EngineContext>> open(const std::string& path,
                                                     int device = kCurrentDevice) noexcept;
  static Result<std::shared_ptr<EngineContext>> load(std::span<const std::byte> plan,
                                                     int device = kCurrentDevice) noexcept;

  nvinfer1::ICudaEngine& engine() const { return *engine_.engine; }
  session::ErrorLog& log() { return log_; }
  int device() const { return device_; }
  /// The engine computes on the CPU: its tensors lie in memory of the host.
  bool runs_on_cpu() const { return runs_on_cpu_; }
  /// The plan.
  Result<std::vector<std::byte>> serial_engine() const noexcept;

 private:
  EngineContext() = default;
  template <class Open>
  static Result<std::shared_ptr<EngineContext>> make(int device, const Open& open) noexcept;

  session::ErrorLog log_;  // outlives the engine
  session::Engine engine_;
  int device_ = 0;
  bool runs_on_cpu_ = true;
};

/// A context of an engine, with a tensor for each input and output. For one thread at a time;
/// several of one engine run side by side.
class Infer {
 public:
  struct Options {
    int profile = 0;
    /// On a GPU, runs of the shapes and memory of the run before are launched as a CUDA graph.
    bool cuda_graph = false;
    /// Memory of the layers, which Infers that never run at the same time may share; empty for
    /// memory of its own.
    std::shared_ptr<MixMemory> layer_memory;
    /// What the runs are in the order of; null for a stream of its own.
    cudaStream_t stream = nullptr;
  };

  /// Inputs get the shapes of the profile's optimum. Tensors have kLINEAR's order of elements
  /// whatever the engine's format is: what it has in another one is converted on the host, and
  /// forward() waits for it.
  static Result<std::shared_ptr<Infer>> make(std::shared_ptr<EngineContext> engine,
                                             const Options& options) noexcept;
  static Result<std::shared_ptr<Infer>> make(std::shared_ptr<EngineContext> engine) noexcept {
    return make(std::move(engine), Options());
  }
  ~Infer();
  Infer(const Infer&) = delete;
  Infer& operator=(const Infer&) = delete;

  int num_input() const { return static_cast<int>(inputs_.size()); }
  int num_output() const { return static_cast<int>(outputs_.size()); }
  /// In the engine's order. @pre there is such an input or output.
  const std::string& get_input_name(int i = 0) const { return info(inputs_, i).name; }
  const std::string& get_output_name(int i = 0) const { return info(outputs_, i).name; }
  bool is_input_name(const std::string& name) const { return find(inputs_, name) >= 0; }
  bool is_output_name(const std::string& name) const { return find(outputs_, name) >= 0; }
  /// The tensor of an input: whoever writes to it, or resizes it, before forward() says what is
  /// computed. Null if there is no such input.
  std::shared_ptr<Tensor> input(int i = 0) const { return tensor_of(inputs_, i); }
  /// What the last forward() computed. Null if there is no such output.
  std::shared_ptr<Tensor> output(int i = 0) const { return tensor_of(outputs_, i); }
  /// By name; null if there is none.
  std::shared_ptr<Tensor> tensor(const std::string& name) const;
  /// Takes another tensor from now on, such as the output of another Infer. An error when it has
  /// another type; on a GPU it has to be on the same one.
  Result<void> set_input(int i, std::shared_ptr<Tensor> tensor) noexcept;
  Result<void> set_output(int i, std::shared_ptr<Tensor> tensor) noexcept;

  /// Runs on the inputs' newest data, of the shapes that they have; outputs get their shapes. What
  /// it says of an input that does not fit names the input, and what was expected. An error in a
  /// thread that calls it while another is in it.
  /// @param sync waits until outputs are there: on a CPU the calling thread computes them, after
  /// what is in the stream. Else they are there after synchronize().
  Result<void> forward(bool sync = true) noexcept;
  Result<void> synchronize() noexcept;

  const std::shared_ptr<EngineContext>& engine() const { return engine_; }
  session::Context& context() { return *context_; }
  int profile() const { return options_.profile; }
  int device() const { return engine_->device(); }
  cudaStream_t get_stream() const { return stream_; }
  /// The largest extent of axis 0 that all inputs may have.
  int64_t get_max_batch_size() const;
  /// Bytes that the layers need.
  size_t get_device_memory_size() const;
  const std::shared_ptr<MixMemory>& get_workspace() const { return options_.layer_memory; }
  /// Each input and output with type and shapes, one in a line.
  std::string describe() const;

 private:
  class GivenOutput;
  struct Port {
    size_t number = 0;  // in the engine
    std::shared_ptr<Tensor> tensor;
    std::unique_ptr<GivenOutput> output;  // of an output whose shape only the run has
    std::unique_ptr<MixMemory> packed;    // of one whose format is not kLINEAR
  };
  using Ports = std::vector<Port>;

  Infer(std::shared_ptr<EngineContext> engine, const Options& options);
  const session::Tensor& info(const Ports& ports, int i) const;
  int find(const Ports& ports, const std::string& name) const;
  std::shared_ptr<Tensor> tensor_of(const Ports& ports, int i) const;
  bool is_on_host(const Port& port) const;
  void replace(Ports& ports, int i, std::shared_ptr<Tensor> tensor, const char* kind);
  void add_port(size_t number);
  void* data_of(Port& port, bool copy);
  void* packed_data_of(Port& port, bool copy);
  void unpack_outputs();
  void set_inputs();
  void set_outputs();
  void take_outputs();
  void set_layer_memory();
  void run();
  void run_here();
  void check(cudaError_t status, const char* what) const;

  const std::shared_ptr<EngineContext> engine_;
  const Options options_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<session::Context> context_;
  Ports inputs_, outputs_;
  // What the run before was of, and its graph.
  std::vector<void*> addresses_, last_addresses_;
  std::vector<Shape> shapes_, last_shapes_;
  std::vector<void*> bindings_;  // by number in the engine; null for what only the run allocates
  session::CudaGraph graph_;
  std::atomic<bool> is_used_{false};  // by a forward()
};

/// 003's functions: an Infer on the plan of a file, or on a plan in memory.
Result<std::shared_ptr<Infer>> load_infer(const std::string& path) noexcept;
Result<std::shared_ptr<Infer>> load_infer_from_memory(const void* plan, size_t size) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_INFER_H
