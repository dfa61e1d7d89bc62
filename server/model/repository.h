// A folder of models: which there are, which are loaded, and their change while requests come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine_model.h"
#include "models.h"

namespace tenon::server {

struct RepositoryOptions {
  /// Each has models as Triton Inference Server's repositories do: NAME/VERSION/model.plan or
  /// model.onnx, with NAME/config.pbtxt or config.json if need be; or only NAME.plan, NAME.engine
  /// or NAME.onnx, which is version 1.
  std::vector<std::string> folders;
  QueueLimits limits;
  /// How often folders are looked at for changes; 0 for never.
  std::chrono::milliseconds poll{0};
  /// Called with what happens to models, a line each.
  std::function<void(const std::string&)> log;
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
  Result<void> load(const std::string& name) override;
  Result<void> unload(const std::string& name) override;

 private:
  /// What a model is made of, and when that was written.
  using Files = std::map<std::string, std::filesystem::file_time_type>;
  struct Version {
    ModelState state = ModelState::kUnloaded;
    std::string reason;
    std::shared_ptr<Model> model;
  };
  using Versions = std::map<int64_t, Version>;
  struct Entry {
    Versions versions;
    Files files;         // as they were when it was loaded
    std::string reason;  // why it has no versions
  };

  std::map<std::string, Files> scan() const;
  Versions load_versions(const std::string& name, const Files& files) const;
  void load_files(const std::string& name, const Files& files);
  void replace(const std::string& name, Entry entry);
  void unload_versions(const std::string& name, Files files);
  void poll();
  void log(const std::string& line) const;

  const RepositoryOptions options_;
  std::mutex loading_;  // one model is loaded at a time
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  bool is_loaded_ = false, is_stopping_ = false;
  std::condition_variable stopping_;
  std::thread poller_;
};

}  // namespace tenon::server
