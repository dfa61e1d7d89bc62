// Runs an engine on arrays of the host.
#ifndef TENON_SESSION_SESSION_H
#define TENON_SESSION_SESSION_H

#include <NvInferRuntime.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "tenon/session/array.h"
#include "tenon/session/context.h"
#include "tenon/session/output.h"

namespace tenon::session {

/// How a session has its memory.
struct SessionOptions {
  /// What the memory of the context's layers is large enough for.
  enum class LayerMemory {
    kAnyProfile,  ///< all profiles; the context has it
    kProfile,     ///< the profile's largest shapes; the session has it
    kShapes,      ///< the shapes that are set; the session has it
  };

  int32_t profile = 0;
  LayerMemory layer_memory = LayerMemory::kAnyProfile;
  bool is_managed = false;  ///< inputs and outputs on a GPU lie in managed memory
};

/// A context, a stream, and memory for all inputs and outputs. For one thread at a time.
class Session {
 public:
  /// @param log what the engine's runtime logs to; like the engine it outlives the session.
  static Result<std::unique_ptr<Session>> make(nvinfer1::ICudaEngine& engine, ErrorLog& log,
                                               const SessionOptions& options) noexcept;
  static Result<std::unique_ptr<Session>> make(nvinfer1::ICudaEngine& engine, ErrorLog& log,
                                               int32_t profile = 0) noexcept {
    return make(engine, log, SessionOptions{.profile = profile});
  }
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Context& context() { return *context_; }
  cudaStream_t stream() const { return stream_; }
  /// Of all inputs, or of all outputs, in the engine's order.
  std::vector<std::string> input_names() const { return names(true); }
  std::vector<std::string> output_names() const { return names(false); }

  /// set_shapes() and set_values(): the shape of an array is that of its input.
  Result<void> set_inputs(const Arrays& arrays, const Shapes& shapes = {}) noexcept;
  /// The shapes of inputs; without one the engine's own, for a dynamic one the profile's optimum.
  /// Inputs have no values until set_values().
  Result<void> set_shapes(const Shapes& shapes) noexcept;
  /// What inputs hold: the array, converted to the input's type, else zeros. `values` are those of
  /// inputs that decide shapes, where there is no array; without them, the profile's optimum. Makes
  /// memory for outputs. An error for names that are no inputs, and for what the type cannot hold.
  /// @pre the arrays have the shapes that were set.
  Result<void> set_values(const Arrays& arrays, const Shapes& values = {}) noexcept;
  /// Inputs that got zeros, as there was no array for them.
  const std::vector<std::string>& zero_filled() const { return zero_filled_; }

  /// What inputs hold. Elements may be changed until the next copy_in(), sizes not.
  Arrays& inputs();
  /// What the last run computed, unpacked from other formats than kLINEAR.
  const Arrays& outputs();

  /// Copies inputs in, runs, copies outputs out, and waits.
  Result<void> run() noexcept;
  /// The steps of run(). All but wait(), execute() and data-dependent outputs only go into the
  /// stream.
  Result<void> copy_in() noexcept { return copy_in(stream_); }
  Result<void> enqueue() noexcept;
  Result<void> copy_out() noexcept { return copy_out(stream_); }
  /// The same in another stream, whose order with stream() is the caller's concern.
  /// An input in another format than kLINEAR is packed first, if it may have changed.
  Result<void> copy_in(cudaStream_t stream) noexcept;
  Result<void> copy_out(cudaStream_t stream) noexcept;
  Result<void> wait() noexcept;
  /// Runs on the caller's thread instead of enqueue() and wait(): TensorRT's executeV2.
  Result<void> execute() noexcept;

 private:
  // An input or output; those of the context, in their order.
  struct Port {
    explicit Port(Memory memory) : memory(std::move(memory)) {}

    Array* host = nullptr;
    Memory memory;                          // of what does not lie in `host` itself
    std::unique_ptr<GrowingOutput> output;  // of an output whose shape the run tells
    bool is_in_host = false;                // the engine reads the array itself
    Format format;
    Memory packed{Memory::Kind::kPinned};  // the array's elements in another format than kLINEAR
    bool is_stale = false;                 // an input must be packed, an output unpacked
    const void* data() const;
    size_t bytes() const;
    /// What is copied to or from the engine's memory.
    std::byte* transferred() const;
  };

  Session(ErrorLog& log, const SessionOptions& options) : log_(log), options_(options) {}
  std::vector<std::string> names(bool inputs) const;
  void check_names(const std::vector<std::string>& names) const;
  Array shape_values(const Tensor& tensor, const Shape& shape, const Shapes& values) const;
  void set_input(size_t i, const Arrays& arrays, const Shapes& values);
  void set_output(size_t i);
  void reserve(size_t i);
  void reserve_for_layers();
  Memory memory_of(const Tensor& tensor) const;
  void check(cudaError_t status, const char* what) const;

  ErrorLog& log_;
  const SessionOptions options_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<Memory> layer_memory_;  // before the context, which uses it
  std::unique_ptr<Context> context_;
  std::vector<Port> ports_;
  Arrays inputs_, outputs_;
  std::vector<std::string> zero_filled_;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_SESSION_H
