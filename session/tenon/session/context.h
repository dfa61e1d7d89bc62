// An execution context in one profile, and what was set on it last.
#ifndef TENON_SESSION_CONTEXT_H
#define TENON_SESSION_CONTEXT_H

#include <NvInferRuntime.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/session/error_log.h"
#include "tenon/session/result.h"
#include "tenon/session/tensor.h"

namespace tenon::session {

/// For one thread at a time. Tensors are numbered in the engine's order.
class Context {
 public:
  /// @param log what the engine's runtime logs to, if errors shall have its messages; may be null.
  /// @param strategy with kUSER_MANAGED whoever runs the context gives it memory before.
  static Result<std::unique_ptr<Context>> make(
      nvinfer1::ICudaEngine& engine, int32_t profile, cudaStream_t stream, ErrorLog* log,
      nvinfer1::ExecutionContextAllocationStrategy strategy =
          nvinfer1::ExecutionContextAllocationStrategy::kSTATIC) noexcept;

  nvinfer1::ICudaEngine& engine() const { return engine_; }
  nvinfer1::IExecutionContext& get() const { return *context_; }
  int32_t profile() const { return profile_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// The number of an input or output; -1 if there is none of that name.
  int find(const std::string& name) const;

  /// Whether the input has this shape already.
  bool has_shape(size_t i, const nvinfer1::Dims& shape) const;
  /// The shape of an input; asks the context only if it has another.
  Result<void> set_shape(size_t i, const nvinfer1::Dims& shape) noexcept;
  /// The shape of a tensor as far as it is known before the run.
  nvinfer1::Dims shape(size_t i) const {
    return context_->getTensorShape(tensors_[i].name.c_str());
  }
  /// The same; an error where the context cannot tell, as without memory.
  Result<Shape> known_shape(size_t i) const noexcept;
  /// Whether only a run tells the shape of an output, also when one has: the next may have another.
  /// @pre what inputs have is set, and this is asked before the first run.
  bool is_data_dependent(size_t i);
  /// The memory of a tensor; tells the context only if it has another.
  Result<void> set_address(size_t i, void* data) noexcept;
  /// Who gives memory to an output, for as long as this is used; null for nobody.
  Result<void> set_output(size_t i, nvinfer1::IOutputAllocator* output) noexcept;

 private:
  Context(nvinfer1::ICudaEngine& engine, int32_t profile, ErrorLog* log)
      : engine_(engine), profile_(profile), log_(log) {}
  Error failure(std::string otherwise) const;

  nvinfer1::ICudaEngine& engine_;
  const int32_t profile_;
  ErrorLog* const log_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string, int> numbers_;  // of tensors, by name
  std::vector<nvinfer1::Dims> shapes_;            // of inputs, as set; -1 dimensions before
  std::vector<void*> addresses_;
  std::vector<bool> is_data_dependent_;  // of outputs, as far as it was asked
};

}  // namespace tenon::session

#endif  // TENON_SESSION_CONTEXT_H
