// --refitFromOnnx: an engine gets the weights of a model.
#pragma once

#include <NvInferRuntime.h>

#include <string>

#include "logger.h"

namespace tenon::tool {

/// Throws Failure when the engine is not refittable, or the model's layers are others.
void refit_from_onnx(nvinfer1::ICudaEngine& engine, const std::string& path, Logger& logger);

}  // namespace tenon::tool
