// A part of a model as an engine, which runs on ONNX Runtime's tensors.
#pragma once

#include <memory>
#include <mutex>

#include "onnx_writer.h"

namespace tenon::ort {

struct CompileOptions {
  std::string precision = "fp32";  ///< or "tf32", "bf16", "fp16"
};

/// ONNX's number of an element type that engines have as inputs and outputs; false for others.
bool is_supported_type(int type);

/// Where extents or values that decide shapes vary, the engine is built when the first ones come,
/// and again for ones outside of what it was built for: each time the range at least doubles.
/// For all threads.
class CompiledGraph {
 public:
  /// Builds the engine, if nothing varies. Throws Error.
  CompiledGraph(GraphModel model, CompileOptions options);
  ~CompiledGraph();

  /// Reads inputs and writes outputs. Throws Error.
  void run(const Api& api, OrtKernelContext* context);

 private:
  struct Input;
  class Built;

  std::vector<Input> read_inputs(const Api& api, const OrtKernelContext* context) const;
  std::shared_ptr<Built> built_for(const std::vector<Input>& inputs);

  GraphModel model_;
  const CompileOptions options_;
  std::mutex mutex_;
  std::shared_ptr<Built> built_;  // the newest one; runs keep theirs
  bool fixes_vectors_ = false;
};

}  // namespace tenon::ort
