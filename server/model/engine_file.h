// The engine of a model's file, and what a server says of it. Without protobuf, as it is loaded
// into other servers, too.
#pragma once

#include <tenon/serve/engine_instances.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check_request.h"

namespace tenon::server {

/// Takes what engines have of a model's parameters (min_shapes, opt_shapes, max_shapes, precision,
/// warm_up) and leaves the others. Throws an Error for a value that there is not.
void take_engine_parameters(std::map<std::string, std::string>& from, ModelConfig& to);

/// Where an engine runs.
struct EnginePlace {
  int device = serve::kCurrentDevice;
  std::string target;  ///< that an ONNX model is built for, as of tenon::set_target()
};

/// Loads a plan, or builds one of an ONNX model. Throws an Error.
/// @param path of a .plan or .engine file, or of an .onnx file.
std::shared_ptr<serve::EngineContext> open_engine(const std::string& path,
                                                  const ModelConfig& config,
                                                  const EnginePlace& place = {});

struct EngineDescription {
  ModelMetadata metadata;
  std::vector<InputRange> ranges;  ///< of each input
};

/// Throws an Error where the configuration and the engine do not agree, and for types that the
/// protocol does not have.
EngineDescription describe_engine(const nvinfer1::ICudaEngine& engine, const std::string& version,
                                  const ModelConfig& config);

using EngineInstances = std::vector<serve::Instance<serve::Tensors, serve::Tensors>>;

/// Throws an Error.
/// @param max_batch as of the metadata.
EngineInstances make_instances(const std::shared_ptr<serve::EngineContext>& engine,
                               const ModelConfig& config, size_t max_batch);

}  // namespace tenon::server
