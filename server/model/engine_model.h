// A plan, or an ONNX model that becomes one, as a model that answers requests.
#pragma once

#include <memory>
#include <string>

#include "pipeline_model.h"

namespace tenon::server {

/// Loads the file, builds a plan of an ONNX model first, runs each batch size once, and then takes
/// requests.
/// @param path of a .plan or .engine file, or of an .onnx file.
/// @param version as the metadata say it.
Result<std::shared_ptr<Model>> load_engine_model(const std::string& path,
                                                 const std::string& version,
                                                 const ModelConfig& config,
                                                 const QueueLimits& limits = {}) noexcept;

}  // namespace tenon::server
