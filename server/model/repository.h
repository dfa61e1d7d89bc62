// A folder of models: which there are, which are loaded, and their change while requests come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "model_files.h"
#include "models.h"
#include "pipeline_model.h"
#include "response_cache.h"
#include "server_log.h"

namespace tenon::server {

struct RepositoryOptions {
  /// Each has models as Triton Inference Server's repositories do: NAME/VERSION/model.plan or
  /// model.onnx, with NAME/config.pbtxt or config.json if need be; or only NAME.plan, NAME.engine
  /// or NAME.onnx, which is version 1.
  std::vector<std::string> folders;
  QueueLimits limits;
  std::shared_ptr<ResponseCache> cache;  ///< of models that want one; null for none
  /// How often folders are looked at for changes; 0 for never.
  std::chrono::milliseconds poll{0};
  Log log;  ///< of what happens to models
};

class Repository final : public Models {
 public:
  explicit Repository(RepositoryOptions options);
  ~Repository() override;

  /// Loads all models; then looks for changes if the options say so. What cannot be loaded is in
  /// the index. An error where a folder cannot be read.
  Result<void> start() noexcept;
  /// From now on nothing is ready, and what start() has not loaded yet stays so.
  void begin_stop() noexcept;
  /// Unloads all models: those who wait are answered.
  void stop() noexcept;

  std::variant<std::shared_ptr<Model>, RequestError> find(
      const std::string& name, const std::string& version) const override;
  std::vector<std::string> versions(const std::string& name) const override;
  std::vector<ModelStatus> index() const override;
  bool is_ready() const override;
  Result<void> load(const std::string& name,
                    const std::optional<std::string>& config = {}) override;
  Result<void> unload(const std::string& name, bool with_members = false) override;

 private:
  struct Version {
    ModelState state = ModelState::kUnloaded;
    std::string reason;
    std::shared_ptr<Model> model;
  };
  using Versions = std::map<int64_t, Version>;
  struct Entry {
    Versions versions;
    ModelFiles files;               // as they were when it was loaded
    std::set<std::string> members;  // of an ensemble
    std::string reason;             // why it has no versions
  };

  void check_circle(const std::string& name, const std::set<std::string>& members) const;
  Result<std::shared_ptr<Model>> load_version(const std::string& path, const std::string& version,
                                              const ModelConfig& config) const;
  Versions load_versions(const std::string& name, const ModelFiles& files,
                         const ModelConfig& config);
  // Those who call these hold loading_.
  void load_files(const std::string& name, const ModelFiles& files);
  void load_dependents(const std::string& name);
  void try_to_load(const std::map<std::string, ModelFiles>& models);
  void replace(const std::string& name, Entry entry);
  void unload_versions(const std::string& name, ModelFiles files);
  void poll();
  void log(Severity severity, const std::string& line) const;

  const RepositoryOptions options_;
  std::mutex loading_;  // one model is loaded at a time
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  bool is_loaded_ = false, is_stopping_ = false;
  std::condition_variable stopping_;
  std::thread poller_;
};

}  // namespace tenon::server
