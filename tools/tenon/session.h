// An execution context with buffers for all its tensors.
#pragma once

#include <cuda_runtime_api.h>

#include "array.h"
#include "engine_memory.h"
#include "model.h"

namespace tenon::tool {

class LateMemory;

class Session {
 public:
  /// Throws Failure when the engine has no such optimization profile.
  Session(nvinfer1::ICudaEngine& engine, Logger& logger, int32_t profile = 0);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  nvinfer1::ICudaEngine& engine() { return engine_; }
  nvinfer1::IExecutionContext& context() { return *context_; }
  cudaStream_t stream() const { return stream_; }
  std::vector<std::string> names(nvinfer1::TensorIOMode mode) const;

  /// Gives every input its shape: that of its array, else of `shapes`, else the engine's own (for a
  /// dynamic one the profile's optimum), and its data: the array, converted to the input's type,
  /// else zeros. For an input that decides shapes, `shapes` holds its values. Makes room for
  /// outputs. Throws Failure for names that are no inputs, for an array and a shape that disagree,
  /// and for values that the input's type cannot hold.
  void set_inputs(const Arrays& arrays, const ShapeMap& shapes);
  /// Inputs that got zeros because there was no array for them.
  const std::vector<std::string>& zero_filled() const { return zero_filled_; }

  /// Puts noise in [0, 1) into float inputs that set_inputs() filled with zeros.
  void fill_with_noise();

  /// Copies inputs to the device, runs, copies outputs back, waits. Throws Failure.
  void run();
  /// The steps of run(), for the benchmark.
  void copy_in();
  void enqueue();
  void copy_out();
  void wait();
  /// Addresses of all tensors in the engine's order, for executeV2.
  std::vector<void*> bindings() const;
  /// What the last run computed.
  const Arrays& outputs() const { return outputs_; }

 private:
  struct Buffer {
    std::string name;
    bool is_input = false, on_host = false;
    Array* host = nullptr;
    bool is_late = false;  // only the run tells its shape
    EngineMemory memory;
    std::unique_ptr<LateMemory> late;
    void* data() const;
  };
  Array shape_values(const std::string& name, const std::vector<int64_t>& shape,
                     const ShapeMap& shapes) const;
  void check(cudaError_t status, const char* what) const;

  [[noreturn]] void refuse_shape(const std::string& name, const std::vector<int64_t>& shape) const;

  nvinfer1::ICudaEngine& engine_;
  Logger& logger_;
  int32_t profile_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  cudaStream_t stream_ = nullptr;
  Arrays inputs_, outputs_;
  std::vector<Buffer> buffers_;
  std::vector<std::string> zero_filled_;
};

/// Shape of an input in the engine, -1 where only known at run time.
std::vector<int64_t> declared_shape(const nvinfer1::ICudaEngine& engine, const std::string& name);

}  // namespace tenon::tool
