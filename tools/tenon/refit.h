// --refitFromOnnx, --dumpRefit and --timeRefit: an engine gets other weights.
#pragma once

#include <NvInferRuntime.h>

#include <string>

#include "logger.h"

namespace tenon::tool {

/// Throws Failure when the engine is not refittable, or the model's layers are others.
void refit_from_onnx(nvinfer1::ICudaEngine& engine, const std::string& path, Logger& logger);

/// Prints each layer that has refittable weights, with their role, and the names of all. Throws
/// Failure when the engine is not refittable.
void print_refittable(nvinfer1::ICudaEngine& engine, Logger& logger);

/// Prints how long it takes to give the engine the weights of a model, once they are read. Throws
/// Failure as refit_from_onnx() does.
void time_refit(nvinfer1::ICudaEngine& engine, const std::string& path, Logger& logger);

}  // namespace tenon::tool
