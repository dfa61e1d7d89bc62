// Runs an engine: input shapes and addresses in, outputs written. One thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/tensor_pool.h"
#include "run/device_memory.h"
#include "run/engine.h"
#include "run/shape_state.h"
#include "run/step_streams.h"
#include "run/step_timer.h"

namespace tenon {

class Context {
 public:
  /// @param own_memory false: the caller gives device memory before the first run.
  Context(std::shared_ptr<const Engine> engine, bool own_memory);
  /// Takes the place of `before`, a context of an engine with the same inputs, outputs and
  /// profiles: what was set there is set here. Waits for work that was enqueued there.
  Context(std::shared_ptr<const Engine> engine, Context& before);
  /// Waits for work that was enqueued.
  ~Context();

  const Engine& engine() const { return *engine_; }

  int profile() const { return profile_; }
  /// Input shapes are forgotten, and memory that grew with them is given back. Throws when there is
  /// no such profile.
  void set_profile(int profile);
  /// Throws when the binding is no input, or the shape is outside the profile.
  void set_input_shape(int binding, const Shape& shape);
  /// Null is allowed; running without an address is what fails.
  void set_address(int binding, void* data);
  void* address(int binding) const { return bindings_.addresses[static_cast<size_t>(binding)]; }
  /// The shape at the current inputs; -1 for extents that are not known yet.
  Shape tensor_shape(int binding);
  /// The shapes of all tensors of the plan in the last run; none before the first.
  std::vector<Shape> shapes_of_last_run();
  /// Inputs whose shape (or, for shape inputs, address) is still missing.
  std::vector<int> missing_inputs() const;
  void set_output_allocator(int binding, nvinfer1::IOutputAllocator* allocator);
  nvinfer1::IOutputAllocator* output_allocator(int binding) const {
    return bindings_.allocators[static_cast<size_t>(binding)];
  }

  /// Who gives the memory that only running tells to be needed, until the end of each run, in the
  /// order of its stream; not owned. Null: the engine's allocator, and then it is kept for later
  /// runs. Runs that were enqueued keep theirs.
  void set_temporary_allocator(nvinfer1::IGpuAllocator* allocator);
  nvinfer1::IGpuAllocator* temporary_allocator() const { return bindings_.temporary; }

  void set_device_memory(void* data, int64_t bytes);
  /// Device memory that the current shapes need.
  int64_t device_memory_needed();

  /// Streams for the steps of Streams that are not in the caller's, not owned; on the host none are
  /// used. Those that are missing, or null, the context makes.
  void set_aux_streams(std::span<Stream* const> streams);

  void set_profiler(nvinfer1::IProfiler* profiler);
  nvinfer1::IProfiler* profiler() const { return profiler_; }
  /// Whether each run reports to the profiler (true), or report_profile() does.
  bool emits_profile = true;
  /// Reports the last run, or of a device's graph with captured runs the last time that it ran.
  void report_profile();

  /// Who is told of debug tensors that are on, when runs come to them; not owned, null: nobody.
  void set_debug_listener(nvinfer1::IDebugListener* listener);
  nvinfer1::IDebugListener* debug_listener() const { return debug_listener_; }
  /// Turns tensor `index` of Plan::debug_tensors on or off, as all are at first.
  void set_debug_state(size_t index, bool on);
  bool debug_state(size_t index) const { return debug_states_[index]; }

  /// Runs on the calling thread and returns when outputs are written. Throws Error.
  /// @param addresses one per binding, set before the run; none: those set before are used.
  void execute(std::span<void* const> addresses = {});
  /// Enqueues the run; throws for what can be known now. A failure while running goes to
  /// `on_failure` and becomes the stream's error. A run that calls the application's code (plugins,
  /// a debug listener, allocators of outputs whose shape it tells) is waited for, and its failure
  /// thrown.
  void enqueue(Stream* stream);
  /// Called on any thread for a run that failed after enqueue() returned, within the handler of
  /// what it threw. Null: nobody is told.
  std::function<void()> on_failure;
  /// Waits until enqueued runs are over.
  void wait();
  /// Whether a run was captured into a CUDA graph.
  bool has_graphs() const { return has_graphs_; }

 private:
  // Where the tensors of a run lie: bindings, one entry for each, and what only running sizes.
  struct Bindings {
    std::vector<void*> addresses;
    std::vector<nvinfer1::IOutputAllocator*> allocators;
    nvinfer1::IGpuAllocator* temporary = nullptr;
  };
  // A run that was enqueued, with the addresses of that moment.
  struct Job {
    Context* context = nullptr;
    std::shared_ptr<ShapeState> state;
    Stream* stream = nullptr;
    Bindings bound;
    bool busy = false;
    bool captured = false;  // lives as long as a CUDA graph that holds it
    bool awaited = false;   // enqueue() returns when it is over
    bool over = false;
    std::exception_ptr failure;  // of one that is awaited
  };
  class InUse;
  class TemporaryMemory;

  const std::shared_ptr<ShapeState>& resolve(bool captured = false);
  bool reads_on_device(size_t input) const;
  bool holds_shape_inputs(const ShapeState& state) const;
  int missing_input(int first = 0) const;
  void read_symbols();
  void check_dimensions() const;
  void check_values() const;
  void* output_memory(const Bindings& bound, int binding, const Shape& shape, Stream* stream) const;
  void check_address(int binding, const void* data, const Shape& shape);
  void check_reach(int binding, const void* data);
  void prepare_addresses(const ShapeState& state, Stream* stream);
  void run(ShapeState& state, const Bindings& bound, Stream* stream);
  void run_step(ShapeState& state, size_t step, Stream* stream);
  bool tells_of(int32_t debug_tensor) const {
    return debug_listener_ != nullptr && debug_states_[static_cast<size_t>(debug_tensor)];
  }
  void tell_listener(const ShapeState& state, const PlanStep& step, Stream* stream) const;
  bool on_host() const { return engine_->device().is_host(); }
  const void* host_input(const ShapeState& state, size_t step, size_t input, Stream* stream);
  int64_t read_element(const ShapeState& state, int32_t tensor, int32_t index, Stream* stream);
  void place_shape_inputs(ShapeState& state) const;
  void enqueue_on_device(const std::shared_ptr<ShapeState>& state, Stream* stream);
  void set_pointers(ShapeState& state, int32_t stage);
  void begin_stage(ShapeState& state, int32_t stage, const Bindings& bound, Stream* stream);
  void* allocate_data_dependent(int output, const Shape& shape);
  void read_data_dependent(ShapeState& state, size_t step, Stream* stream);
  DeviceMemory& stage_memory(int32_t stage) {
    return *stage_memory_[static_cast<size_t>(stage - 1)];
  }
  void reserve_memory(int64_t bytes);
  void release_memory();
  void capture(Job job);
  bool has_data_dependent_outputs() const;
  bool calls_the_application() const;
  void run_when_idle(ShapeState& state, Stream* stream);
  Job* take_job();
  void give_back(Job& job);
  void finish(Job& job);
  void run_job(Job& job) noexcept;
  void report_times();

  std::shared_ptr<const Engine> engine_;
  int profile_ = 0;
  std::vector<std::optional<Shape>> input_shapes_;
  Bindings bindings_;
  std::vector<const void*> reached_;  // per binding: the address that check_reach() saw last
  std::list<std::shared_ptr<ShapeState>> states_;             // most recent first
  std::vector<std::shared_ptr<ShapeState>> captured_states_;  // that CUDA graphs of a device use
  bool shapes_changed_ = true;
  std::vector<SymbolValue> symbols_;  // of the plan, at the current inputs
  DeviceMemory memory_;
  std::vector<std::unique_ptr<DeviceMemory>> stage_memory_;  // of stages 1, 2, …
  std::vector<std::unique_ptr<DeviceMemory>>
      data_dependent_memory_;  // per plan tensor; kDataDependent ones
  struct Running {
    ShapeState* state = nullptr;
    size_t step = 0;
  };
  Running running_;
  const AllocateOutput allocate_ = [this](int output, const Shape& shape) {
    return allocate_data_dependent(output, shape);
  };
  bool own_memory_;
  bool has_graphs_ = false;  // CUDA graphs that may run in memory_
  nvinfer1::IProfiler* profiler_ = nullptr;
  nvinfer1::IDebugListener* debug_listener_ = nullptr;
  std::vector<bool> debug_states_;  // of the plan's debug tensors
  Stream* stream_ = nullptr;        // of execute(), where work needs one
  StepStreams step_streams_;
  StepTimer step_timer_;
  StepWeights step_weights_;
  Event* last_run_ = nullptr;                         // on a device: what was enqueued last is over
  std::vector<std::vector<TensorPool>> host_inputs_;  // per step and input: copies
  std::atomic<bool> in_use_ = false;
  std::mutex run_mutex_;  // a run, or a change of the memory it uses

  std::mutex mutex_;  // guards what follows
  std::condition_variable idle_;
  std::vector<Job> jobs_;
  int pending_ = 0;
};

}  // namespace tenon
