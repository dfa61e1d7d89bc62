// From a file, an ONNX model or a plan, to an engine.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <string>

#include "array.h"
#include "logger.h"
#include "options.h"

namespace tenon::tool {

/// The engine of a model, with what must live as long as it.
struct Model {
  std::unique_ptr<nvinfer1::IRuntime> runtime;
  std::unique_ptr<nvinfer1::ICudaEngine> engine;
  bool built = false;  // from ONNX, here and now
  double seconds = 0;  // to open or build it
};

/// What the inputs of a run say of shapes: where options give no profile, an ONNX model gets one
/// that is just right for them.
struct RunInputs {
  ShapeMap shapes;
  ShapeMap values;  // of small integer arrays, which may decide shapes

  void add(const std::string& name, const Array& array);
};

/// True when the file starts as a plan does; throws Failure when it cannot be read.
bool is_plan(const std::string& path);

/// Builds a plan from an ONNX model. `inputs` stand in where the options give no profile.
std::unique_ptr<nvinfer1::IHostMemory> build_plan(const std::string& path,
                                                  const BuildOptions& options,
                                                  const RunInputs& inputs, Logger& logger,
                                                  bool quiet);

/// Opens a plan, or builds an engine from an ONNX model.
Model load_model(const std::string& path, const BuildOptions& options, const RunInputs& inputs,
                 Logger& logger, bool quiet);

/// The text of a failed call: what the library logged, else `otherwise`.
[[noreturn]] void fail_with_log(Logger& logger, const std::string& otherwise);

/// An ONNX model parsed into a network.
struct ParsedModel {
  std::unique_ptr<nvinfer1::IBuilder> builder;
  std::unique_ptr<nvinfer1::INetworkDefinition> network;
  std::unique_ptr<nvinfer1::IBuilderConfig> config;
};
/// Throws Failure with every error of the parser. `with_profile` false leaves dynamic inputs
/// without one.
ParsedModel parse_model(const std::string& path, const BuildOptions& options,
                        const RunInputs& inputs, Logger& logger, bool with_profile = true);

}  // namespace tenon::tool
