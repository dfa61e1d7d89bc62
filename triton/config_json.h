// Configurations as Triton gives them, in JSON: those of the backend, and those of models.
//
// Not by the message that tenon-server reads, as a library of protobuf would meet the server's; and
// fields that are not known here stay in a configuration that is completed.
#pragma once

#include <model/model_config.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon::triton {

using Json = nlohmann::json;

/// What `--backend-config=tenon,KEY=VALUE` says.
struct BackendOptions {
  int32_t default_max_batch = 4;     ///< "default-max-batch-size"; 0 for no batches
  std::string precision;             ///< "precision" of ONNX models that say none
  int32_t threads = 0;               ///< "threads" of the process; 0 for all
  std::vector<std::string> plugins;  ///< "plugins": libraries, with ';' between them
  std::vector<std::string> unused;   ///< other keys, for the log
};

/// Throws an Error for values out of range.
BackendOptions read_backend_options(const Json& json);

/// What the backend takes of a model's configuration: the name, the file, max_batch_size (0 where
/// it says nothing), the parameters of engines, and inputs and outputs with the shapes that the
/// model has of them, which is their `reshape` if there is one. Throws an Error for a field that is
/// refused.
server::ModelConfig config_of(const Json& json, const BackendOptions& options);

/// The libraries of plugins that a model names: model_operations.op_library_filename.
std::vector<std::string> plugins_of(const Json& json);

/// Whether a declared tensor has as many extents as the model's, so that none is a batch's.
bool has_whole_shapes(const server::ModelConfig& config, const server::ModelMetadata& model);

/// Adds what the configuration lacks of inputs, outputs, max_batch_size and the scheduler. False
/// where nothing was to do.
/// @param max_batch 0 where shapes have no axis of a batch.
bool complete(Json& json, const server::ModelMetadata& model, int32_t max_batch);

/// Throws an Error where an input of the model is not in the configuration, and where shapes do not
/// agree.
void check_tensors(const Json& json, const server::ModelMetadata& model, int32_t max_batch);

}  // namespace tenon::triton
