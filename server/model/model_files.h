// What lies in a repository: the files of each model, their versions, and the configuration.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model_config.h"

namespace tenon::server {

/// Of a version whose configuration names no other; the first that there is.
inline constexpr const char* kModelFiles[] = {"model.plan", "model.engine", "model.onnx"};

/// What a model is made of.
struct ModelFiles {
  std::map<std::string, std::filesystem::file_time_type> times;  ///< when each was written
  std::string folder = {};  ///< that they are in; empty for a file beside the folders
  /// JSON that a client gave in place of the model's config.pbtxt or config.json.
  std::optional<std::string> config = {};

  bool operator==(const ModelFiles&) const = default;
};

/// The number that a folder is named by; 0 for other names.
int64_t version_of(const std::string& name);

// All throw an Error.

/// The files of each model in these folders.
std::map<std::string, ModelFiles> scan_models(const std::vector<std::string>& folders);
/// What the client gave, or the model's config.pbtxt or config.json; one without fields where there
/// is none.
ModelConfig read_config(const ModelFiles& files, const std::string& name);
/// The model's file of each version that the configuration wants. A file beside the folders is
/// version 1.
std::map<int64_t, std::string> version_files(const ModelFiles& files, const ModelConfig& config);

}  // namespace tenon::server
