/// What Tenon adds to TensorRT's interface: plans opened by path, plans and networks as text.
#pragma once

#include <NvInfer.h>

#include <cstdint>

namespace tenon {

/// The stage of the pipeline at which dump() looks at a network.
enum class DumpStage : int32_t {
  kImport = 0,    ///< as imported or built by hand
  kOptimize = 1,  ///< after the optimizer's passes
  kPlan = 2,      ///< compiled: kernels, layouts, memory
};

/// Text, or JSON for programs.
enum class DumpFormat : int32_t { kText = 0, kJson = 1 };

/// Opens the plan at `path` in place: its weights are mapped, not read, so that opening is quick and
/// processes share them. The file must not change while the engine lives.
/// @returns the engine, owned by the caller; null on failure, with the cause in the runtime's log.
[[nodiscard]] nvinfer1::ICudaEngine* open_plan(nvinfer1::IRuntime& runtime,
                                               char const* path) noexcept;

/// Describes the plan at `path`: inputs and outputs, profiles, memory, needed plugins, layers and their
/// kernels. Loads no plugin and runs nothing.
/// @returns text without a terminating NUL, owned by the caller; null on failure, with the cause logged.
[[nodiscard]] nvinfer1::IHostMemory* describe_plan(nvinfer1::ILogger& logger, char const* path,
                                                   DumpFormat format) noexcept;

/// Describes `network` at a stage. kOptimize and kPlan rewrite the network, which is of no further use.
/// `config` gives the profiles that kPlan needs and may be null otherwise.
/// @returns text without a terminating NUL, owned by the caller; null on failure, with the cause logged.
[[nodiscard]] nvinfer1::IHostMemory* dump(nvinfer1::IBuilder& builder,
                                          nvinfer1::INetworkDefinition& network,
                                          nvinfer1::IBuilderConfig* config, DumpStage stage,
                                          DumpFormat format) noexcept;

/// Threads of the process's arena; 0 means what the machine has. TENON_THREADS sets it too. Call it while
/// nothing runs.
void set_threads(int32_t threads) noexcept;

/// The arena's threads now.
[[nodiscard]] int32_t threads() noexcept;

/// What this process runs on, as JSON: processor, instruction set, threads, memory, libraries.
/// @returns text without a terminating NUL, owned by the caller.
[[nodiscard]] nvinfer1::IHostMemory* describe_machine() noexcept;

}  // namespace tenon
