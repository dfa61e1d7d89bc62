// From a file, an ONNX model or a plan, to an engine.
#pragma once

#include <NvInfer.h>
#include <tenon/session/array.h>
#include <tenon/session/engine.h>
#include <tenon/session/model.h>

#include <memory>
#include <span>
#include <string>

#include "logger.h"
#include "options.h"

namespace tenon::tool {

/// The engine of a model.
struct LoadedModel : session::Engine {
  std::unique_ptr<nvinfer1::IHostMemory> plan;  // if it was built from ONNX, here and now
  double seconds = 0;                           // to open or build it
};

/// What the inputs of a run say of shapes: where options give no profile, an ONNX model gets one
/// that is just right for them.
struct RunInputs {
  Shapes shapes;
  Shapes values;  // of small integer arrays, which may decide shapes

  void add(const std::string& name, const session::Array& array);
};

/// True when the file starts as a plan does; throws Failure when it cannot be read.
bool is_plan(const std::string& path);

/// The path of an ONNX model without ".onnx", for names of files that are made of it.
std::string without_suffix(const std::string& path);

/// Builds a plan from an ONNX model. `inputs` stand in where the options give no profile.
std::unique_ptr<nvinfer1::IHostMemory> build_plan(const std::string& path,
                                                  const BuildOptions& options,
                                                  const RunInputs& inputs, Logger& logger,
                                                  bool quiet);

/// The same from a model in memory.
std::unique_ptr<nvinfer1::IHostMemory> build_plan(std::span<const std::byte> model,
                                                  const BuildOptions& options,
                                                  const RunInputs& inputs, Logger& logger,
                                                  bool quiet);

/// Opens a plan, or builds an engine from an ONNX model.
/// @param by_stream a plan is read piece by piece.
LoadedModel load_model(const std::string& path, const BuildOptions& options,
                       const RunInputs& inputs, Logger& logger, bool quiet, bool by_stream = false);

/// An ONNX model as the options want it built. Throws Failure with every error of the parser.
/// `with_profile` false leaves dynamic inputs without one.
session::Model parse_model(const std::string& path, const BuildOptions& options,
                           const RunInputs& inputs, Logger& logger, bool with_profile = true);

inline std::span<const std::byte> bytes_of(const nvinfer1::IHostMemory& memory) {
  return {static_cast<const std::byte*>(memory.data()), memory.size()};
}

/// The same of a model in memory.
session::Model parse_model(std::span<const std::byte> model, const BuildOptions& options,
                           const RunInputs& inputs, Logger& logger, bool with_profile = true);

/// These options for a model that is quantized already.
BuildOptions without_calibration(const BuildOptions& options);

/// These options without types but the model's own and without calibration, by kernels that are not
/// timed.
BuildOptions float_options(const BuildOptions& options);

}  // namespace tenon::tool
