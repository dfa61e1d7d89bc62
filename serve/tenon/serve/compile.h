// From ONNX models to plans.
#ifndef TENON_SERVE_COMPILE_H
#define TENON_SERVE_COMPILE_H

#include <NvInfer.h>
#include <tenon/session/model.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/serve/mix_memory.h"

namespace tenon::serve {

/// What layers may compute in besides float32.
enum class Mode { FP32, FP16, INT8 };

/// Where the model is.
class ModelSource {
 public:
  ModelSource(const char* path) : path_(path) {}
  ModelSource(std::string path) : path_(std::move(path)) {}
  static ModelSource onnx(std::string path) { return ModelSource(std::move(path)); }
  /// The bytes stay the caller's.
  static ModelSource onnx_data(const void* data, size_t size) {
    ModelSource source{std::string()};
    source.bytes_ = {static_cast<const std::byte*>(data), size};
    source.is_in_memory_ = true;
    return source;
  }

  bool is_in_memory() const { return is_in_memory_; }
  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
  bool is_in_memory_ = false;
};

/// Where the plan goes: to a file, which is whole or not there, or to memory.
class CompileOutput {
 public:
  CompileOutput() = default;
  CompileOutput(const char* path) : path_(path) {}
  CompileOutput(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// The plan, if it went to memory.
  const std::vector<std::byte>& data() const { return plan_; }
  void set_data(std::vector<std::byte> plan) { plan_ = std::move(plan); }

 private:
  std::string path_;
  std::vector<std::byte> plan_;
};

struct CompileOptions {
  /// Without any, the batch, axis 0, of each input may be 1 to max_batch_size, and other extents
  /// have to be fixed.
  std::vector<session::Ranges> profiles;
  int64_t max_batch_size = 1;
  size_t max_workspace_size = 0;  ///< 0 for as much as layers want
  /// Of Mode::INT8 without Q/DQ layers; the caller's, until compile() has returned.
  nvinfer1::IInt8Calibrator* calibrator = nullptr;
  /// May change the network and its configuration before it is built; what it throws is the error,
  /// with what was logged behind it.
  std::function<void(nvinfer1::INetworkDefinition&, nvinfer1::IBuilderConfig&)> hook;
  /// Called with the phase, the step and the number of steps; false cancels the build, and so does
  /// what it throws, which is the error.
  std::function<bool(std::string_view phase, int step, int steps)> progress;
};

/// An error has the parser's or the builder's message.
Result<void> compile(Mode mode, const ModelSource& source, CompileOutput& output,
                     const CompileOptions& options = {}) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_COMPILE_H
