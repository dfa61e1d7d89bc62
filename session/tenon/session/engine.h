// Engines, from plans.
#ifndef TENON_SESSION_ENGINE_H
#define TENON_SESSION_ENGINE_H

#include <NvInferRuntime.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tenon/session/error_log.h"
#include "tenon/session/result.h"

namespace tenon::session {

struct EngineOptions {
  /// Whether code that the plan holds may run in this process: its plugin libraries. For plans that
  /// the caller trusts.
  bool allows_host_code = false;
};

/// An engine, with the runtime that must live as long as it. `log` outlives both.
struct Engine {
  std::unique_ptr<nvinfer1::IRuntime> runtime;
  std::unique_ptr<nvinfer1::ICudaEngine> engine;

  /// Of the plan file at `path`; Tenon's own library maps it instead of reading it whole.
  static Result<Engine> open(const std::string& path, ErrorLog& log,
                             const EngineOptions& options = {}) noexcept;
  /// The same, read piece by piece through IStreamReaderV2.
  static Result<Engine> stream(const std::string& path, ErrorLog& log,
                               const EngineOptions& options = {}) noexcept;
  static Result<Engine> load(std::span<const std::byte> plan, ErrorLog& log,
                             const EngineOptions& options = {}) noexcept;
  static Result<Engine> load(const nvinfer1::IHostMemory& plan, ErrorLog& log,
                             const EngineOptions& options = {}) noexcept {
    return load({static_cast<const std::byte*>(plan.data()), plan.size()}, log, options);
  }
};

}  // namespace tenon::session

#endif  // TENON_SESSION_ENGINE_H
