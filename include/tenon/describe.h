// Plans, networks and the machine as text; the threads that the engine computes with.
#ifndef TENON_DESCRIBE_H
#define TENON_DESCRIBE_H

#include <memory>

#include "NvInfer.h"
#include "tenon/extensions.h"

namespace tenon {

/// The stage of the pipeline at which dump() looks at a network.
enum class DumpStage : int32_t {
  kIMPORT = 0,    ///< as imported or built by hand
  kOPTIMIZE = 1,  ///< after the optimizer's passes
  kPLAN = 2,      ///< compiled: kernels, layouts, memory
};

/// Text for people, or JSON for programs.
enum class DumpFormat : int32_t { kTEXT = 0, kJSON = 1 };

}  // namespace tenon

/// What the functions below call.
TENON_EXTENSION nvinfer1::IHostMemory* tenonDescribePlan(nvinfer1::ILogger* logger,
                                                         const char* path,
                                                         tenon::DumpFormat format) noexcept;
TENON_EXTENSION nvinfer1::IHostMemory* tenonDump(nvinfer1::INetworkDefinition* network,
                                                 nvinfer1::IBuilderConfig* config,
                                                 tenon::DumpStage stage,
                                                 tenon::DumpFormat format) noexcept;
TENON_EXTENSION nvinfer1::IHostMemory* tenonDescribeMachine() noexcept;
TENON_EXTENSION nvinfer1::IHostMemory* tenonDescribeOperators() noexcept;
TENON_EXTENSION nvinfer1::IHostMemory* tenonDescribeWork(
    nvinfer1::IExecutionContext* context) noexcept;
TENON_EXTENSION void tenonSetThreads(int32_t threads) noexcept;
TENON_EXTENSION int32_t tenonThreads() noexcept;

namespace tenon {

/// Text without a terminating NUL; null when it could not be made.
using Text = std::unique_ptr<nvinfer1::IHostMemory>;

/// Describes the plan file at `path`: inputs and outputs, profiles, memory, needed plugins, layers
/// and their kernels. Loads no plugin and runs nothing. Null, after an error to `logger`, when the
/// file cannot be read or is not an intact plan.
inline Text describe_plan(nvinfer1::ILogger& logger, const char* path, DumpFormat format) noexcept {
  return Text(tenonDescribePlan != nullptr ? tenonDescribePlan(&logger, path, format) : nullptr);
}

/// Describes `network` at a stage; the network stays as it is. `config` gives the profiles for
/// kPLAN. Null, after an error to the network's logger, when that stage fails.
inline Text dump(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
                 DumpStage stage, DumpFormat format) noexcept {
  return Text(tenonDump != nullptr ? tenonDump(&network, &config, stage, format) : nullptr);
}

/// What this process runs on, as a JSON object: version of Tenon, processor, instruction set,
/// threads, memory, libraries.
inline Text describe_machine() noexcept {
  return Text(tenonDescribeMachine != nullptr ? tenonDescribeMachine() : nullptr);
}

/// The ONNX operators that the parser knows, as a JSON object: "opsets" is [oldest, latest], and
/// each of "operators" has "name", "since" (the opset from which it holds, up to the next of that
/// name) and "restriction" ("" for none).
inline Text describe_operators() noexcept {
  return Text(tenonDescribeOperators != nullptr ? tenonDescribeOperators() : nullptr);
}

/// What the layers of `context` had to do in its last run, and what this machine can at best, as a
/// JSON object: "target"; "threads"; "operationsPerSecond" of float32 and "bytesPerSecond" read
/// from memory, measured by this call, which takes a third of a second, and left out of a GPU,
/// whose peaks are not known yet; "tensors"; and "layers" in the order in which IProfiler hears of
/// them. A layer has "name", "kind", "kernel", "operations", "bytes", "inputs" and "outputs"
/// (indices into "tensors") and "stream" (0 is the caller's). Operations are those of the layer's
/// definition, a multiply-add counting as two, whatever the kernel computes; layers that move data,
/// plugins, loops and conditionals count 0. Bytes are those of inputs, outputs and constants, once
/// each. A tensor has "name", "type", "layout", "shape", "bytes" (0 where a kernel has packed it,
/// or on the host), "place" ("input", "output", "constant", "host", "alias" or "arena", the
/// context's own memory) and, of an alias, "shares": whose memory it is in. Null, after an error to
/// the engine's logger, when the context has not run.
inline Text describe_work(nvinfer1::IExecutionContext& context) noexcept {
  return Text(tenonDescribeWork != nullptr ? tenonDescribeWork(&context) : nullptr);
}

/// Threads that engines of this process compute with; 0 means as many as the machine has, which is
/// the default unless the environment variable TENON_THREADS holds a number from 1 to 1024;
/// anything else in it is an error of createInferBuilder() and createInferRuntime(). Call it while
/// nothing runs.
inline void set_threads(int32_t threads) noexcept {
  if (tenonSetThreads != nullptr) tenonSetThreads(threads);
}

/// The number of threads now; 0 when the library is not Tenon, or when TENON_THREADS is no number.
inline int32_t threads() noexcept {
  return tenonThreads != nullptr ? tenonThreads() : 0;
}

}  // namespace tenon

#endif  // TENON_DESCRIBE_H
