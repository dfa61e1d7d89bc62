// A version of a model that Triton has loaded: its file, its configuration, and its engines.
#pragma once

#include <model/engine_file.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "abi.h"
#include "config_json.h"

namespace tenon::triton {

/// Libraries of plugins that models use. Throws Error.
void load_plugins(const std::vector<std::string>& libraries);

/// Whether Tenon computes on a GPU of this machine.
bool has_gpu();

/// For all threads.
class BackendModel {
 public:
  /// Opens the engine of the first group of instances; of an ONNX model it is built. Throws Error.
  /// @param folder of the model, in which those of its versions are.
  /// @param json the configuration; it is completed if `completes` says so.
  BackendModel(const BackendOptions& options, const std::string& folder, uint64_t version,
               Json& json, bool completes);

  const server::ModelConfig& config() const { return config_; }
  const server::ModelMetadata& metadata() const { return description_.metadata; }
  const std::vector<server::InputRange>& ranges() const { return description_.ranges; }
  bool is_completed() const { return is_completed_; }

  /// One for each device, which all of its instances share. Throws an Error where the plan is not
  /// one for such instances.
  std::shared_ptr<serve::EngineContext> engine(TRITONSERVER_InstanceGroupKind kind, int device);

 private:
  void set_batch(const BackendOptions& options, const std::string& version, const Json& json,
                 bool completes);

  server::ModelConfig config_;
  std::string path_;
  server::EngineDescription description_;
  int32_t max_batch_ = 0;  // as the configuration has it
  bool is_completed_ = false;
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::shared_ptr<serve::EngineContext>> engines_;
};

}  // namespace tenon::triton
