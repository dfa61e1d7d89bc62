#include "repository.h"

#include <tenon/printable.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "guard.h"
#include "read_file.h"

namespace tenon::server {
namespace {

namespace fs = std::filesystem;
using session::value_of;

constexpr const char* kModelFiles[] = {"model.plan", "model.engine", "model.onnx"};

bool is_model_file(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".plan" || extension == ".engine" || extension == ".onnx";
}

// The number that a folder is named by; 0 for other names.
int64_t version_of(const std::string& name) {
  int64_t version = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data(), end, version);
  return error == std::errc() && last == end && version > 0 && name[0] != '0' ? version : 0;
}

ModelConfig read_config(const std::map<std::string, fs::file_time_type>& files,
                        const std::string& name) {
  ModelConfig config;
  for (const auto& [path, time] : files) {
    const fs::path file(path);
    if (file.filename() != "config.pbtxt" && file.filename() != "config.json") continue;
    const auto bytes = session::read_file(path);
    try {
      config =
          value_of(parse_model_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                      file.extension() == ".json"));
    } catch (const Error& cause) {
      throw Error{printable(path) + ": " + cause.text};
    }
    if (!config.name.empty() && config.name != name)
      throw Error{printable(path) + ": name: expected that of the folder, '" + printable(name)
                  + "', found '" + printable(config.name) + "'"};
    break;
  }
  config.name = name;
  return config;
}

// The model's file of each version. A file beside the folders is version 1.
std::map<int64_t, std::string> version_files(const std::map<std::string, fs::file_time_type>& files,
                                             const ModelConfig& config) {
  std::map<int64_t, std::string> versions;
  for (const auto& [path, time] : files) {
    const fs::path file(path);
    const int64_t version = version_of(file.parent_path().filename());
    const std::string wanted = config.file;
    const bool is_named = wanted.empty() ? std::ranges::count(kModelFiles, file.filename()) > 0
                                         : file.filename() == wanted;
    if (version > 0 && is_named)
      versions.try_emplace(version, path);
    else if (files.size() == 1 && is_model_file(file) && version == 0)
      versions.try_emplace(1, path);
  }
  return versions;
}

void keep_wanted(const ModelConfig& config, std::map<int64_t, std::string>& versions) {
  if (config.version_policy == VersionPolicy::kLatest)
    while (versions.size() > config.latest_versions) versions.erase(versions.begin());
  if (config.version_policy == VersionPolicy::kSpecific) {
    for (const int64_t version : config.versions)
      if (!versions.contains(version))
        throw Error{"version_policy: there is no version " + std::to_string(version)};
    std::erase_if(versions, [&](const auto& entry) {
      return std::ranges::count(config.versions, entry.first) == 0;
    });
  }
}

bool serves(const auto& versions) {
  return std::ranges::any_of(versions,
                             [](const auto& version) { return version.second.model != nullptr; });
}

// Who has found a model gives it its request first.
void drain(std::vector<std::shared_ptr<Model>>& models) noexcept {
  for (const auto& model : models) {
    for (int i = 0; i < 2000 && model.use_count() > 1; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    model->drain();
  }
}

}  // namespace

Repository::Repository(RepositoryOptions options) : options_(std::move(options)) {}

Repository::~Repository() {
  stop();
}

void Repository::log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

std::map<std::string, Repository::Files> Repository::scan() const {
  std::map<std::string, Files> models;
  for (const std::string& folder : options_.folders) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    if (error) throw Error{printable(folder) + ": cannot be read: " + error.message()};
    for (; entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::directory_entry& entry = *entries;
      std::error_code unknown;  // of this entry, as of a link in a circle
      const bool is_folder = entry.is_directory(unknown);
      const std::string name = is_folder ? entry.path().filename() : entry.path().stem();
      if (name.empty() || name[0] == '.') continue;
      if (!is_folder) {
        if (is_model_file(entry.path()))
          models[name].emplace(entry.path(), entry.last_write_time(unknown));
        continue;
      }
      // NAME/file and NAME/VERSION/file; deeper folders are none of ours.
      Files files;
      constexpr auto kFollow = fs::directory_options::follow_directory_symlink;
      for (fs::recursive_directory_iterator file(entry.path(), kFollow, unknown), end;
           !unknown && file != end; file.increment(unknown)) {
        if (file.depth() >= 1) file.disable_recursion_pending();
        std::error_code of_file;
        if (file->is_regular_file(of_file))
          files.emplace(file->path(), file->last_write_time(of_file));
      }
      models[name].merge(files);
    }
  }
  return models;
}

Repository::Versions Repository::load_versions(const std::string& name, const Files& files) const {
  const ModelConfig config = read_config(files, name);
  for (const std::string& field : config.unused)
    log(printable(name) + ": its configuration has a field without effect: " + field);
  std::map<int64_t, std::string> paths = version_files(files, config);
  if (paths.empty())
    throw Error{
        printable(name) + ": has no VERSION/"
        + (config.file.empty() ? "model.plan or VERSION/model.onnx" : printable(config.file))};
  keep_wanted(config, paths);
  Versions versions;
  for (const auto& [number, path] : paths) {
    Version& version = versions[number];
    auto model = load_engine_model(path, std::to_string(number), config, options_.limits);
    version.state = model ? ModelState::kReady : ModelState::kFailed;
    if (model)
      version.model = *std::move(model);
    else
      version.reason = model.error();
  }
  return versions;
}

// Requests find the new versions from now on; those of before answer what they have.
void Repository::replace(const std::string& name, Entry entry) {
  std::vector<std::shared_ptr<Model>> before;
  {
    const std::lock_guard lock(mutex_);
    Entry& now = entries_[name];
    for (auto& [number, version] : now.versions)
      if (version.model != nullptr) before.push_back(std::move(version.model));
    now = std::move(entry);
  }
  drain(before);
}

// Where nothing of it can be loaded, what was there goes on, and the error says why.
void Repository::load_files(const std::string& name, const Files& files) {
  const std::lock_guard one_at_a_time(loading_);
  Entry entry;
  entry.files = files;
  try {
    entry.versions = load_versions(name, files);
    for (const auto& [number, version] : entry.versions)
      if (version.state == ModelState::kFailed && entry.reason.empty())
        entry.reason = version.reason;
  } catch (const Error& cause) {
    entry.reason = cause.text;
  }
  if (!entry.reason.empty()) {
    log(entry.reason);
    const std::lock_guard lock(mutex_);
    Entry& now = entries_[name];
    now.files = files;  // it is tried again when they change
    if (serves(now.versions)) {
      now.reason = entry.reason;
      throw Error{entry.reason};
    }
  }
  const std::string reason = entry.reason;
  for (const auto& [number, version] : entry.versions)
    if (version.model != nullptr)
      log(printable(name) + ": version " + std::to_string(number) + " is ready");
  replace(name, std::move(entry));
  if (!reason.empty()) throw Error{reason};
}

// It is loaded again when its files are not these.
void Repository::unload_versions(const std::string& name, Files files) {
  Entry entry;
  entry.files = std::move(files);
  replace(name, std::move(entry));
  log(printable(name) + ": unloaded");
}

Result<void> Repository::start() noexcept {
  return session::guard([&] {
    for (const auto& [name, files] : scan()) {
      {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return;
      }
      try {
        load_files(name, files);
      } catch (const Error&) {  // it is in the index
      }
    }
    {
      const std::lock_guard lock(mutex_);
      is_loaded_ = true;
    }
    if (options_.poll.count() > 0) poller_ = std::thread([this] { poll(); });
  });
}

void Repository::poll() {
  for (;;) {
    std::map<std::string, Files> loaded;
    {
      std::unique_lock lock(mutex_);
      if (stopping_.wait_for(lock, options_.poll, [&] { return is_stopping_; })) return;
      for (const auto& [name, entry] : entries_) loaded[name] = entry.files;
    }
    (void)session::guard([&] {
      const std::map<std::string, Files> found = scan();
      for (const auto& [name, files] : found) {
        const auto before = loaded.find(name);
        if (before != loaded.end() && before->second == files) continue;
        try {
          load_files(name, files);
        } catch (const Error&) {  // it is logged, and in the index
        }
      }
      for (const auto& [name, files] : loaded)
        if (!found.contains(name) && !files.empty()) unload_versions(name, {});
    });
  }
}

void Repository::begin_stop() noexcept {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
}

void Repository::stop() noexcept {
  begin_stop();
  std::vector<std::shared_ptr<Model>> models;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, entry] : entries_)
      for (auto& [number, version] : entry.versions) {
        if (version.model == nullptr) continue;
        version.state = ModelState::kUnloading;
        models.push_back(std::move(version.model));
      }
  }
  stopping_.notify_all();
  if (poller_.joinable()) poller_.join();
  drain(models);
}

std::variant<std::shared_ptr<Model>, RequestError> Repository::find(
    const std::string& name, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end())
    return RequestError{Failure::kNotFound, "there is no model '" + printable(name) + "'"};
  const Versions& versions = entry->second.versions;
  if (version.empty()) {
    for (auto newest = versions.rbegin(); newest != versions.rend(); ++newest)
      if (newest->second.model != nullptr) return newest->second.model;
    return RequestError{is_stopping_ ? Failure::kUnavailable : Failure::kNotFound,
                        "model '" + printable(name) + "' is not ready"
                            + (entry->second.reason.empty() ? "" : ": " + entry->second.reason)};
  }
  const auto found = versions.find(version_of(version));
  if (found == versions.end())
    return RequestError{Failure::kNotFound, "model '" + printable(name) + "' has no version '"
                                                + printable(version) + "'"};
  if (found->second.model == nullptr)
    return RequestError{Failure::kUnavailable,
                        "version " + version + " of model '" + printable(name) + "' is not ready"};
  return found->second.model;
}

std::vector<std::string> Repository::versions(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> loaded;
  if (const auto entry = entries_.find(name); entry != entries_.end())
    for (const auto& [number, version] : entry->second.versions)
      if (version.model != nullptr) loaded.push_back(std::to_string(number));
  return loaded;
}

std::vector<ModelStatus> Repository::index() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> all;
  for (const auto& [name, entry] : entries_) {
    if (entry.versions.empty())
      all.push_back({name, "", entry.reason.empty() ? ModelState::kUnloaded : ModelState::kFailed,
                     entry.reason.empty() ? "unloaded" : entry.reason});
    for (const auto& [number, version] : entry.versions)
      all.push_back({name, std::to_string(number), version.state,
                     version.reason.empty() ? entry.reason : version.reason});
  }
  return all;
}

bool Repository::is_ready() const {
  const std::lock_guard lock(mutex_);
  if (!is_loaded_ || is_stopping_) return false;
  return std::ranges::all_of(entries_, [](const auto& entry) {
    return entry.second.reason.empty() || serves(entry.second.versions);
  });
}

Result<void> Repository::load(const std::string& name) {
  return session::guard([&] {
    const auto found = scan();
    const auto files = found.find(name);
    if (files == found.end()) throw Error{"the repository has no model '" + printable(name) + "'"};
    load_files(name, files->second);
  });
}

Result<void> Repository::unload(const std::string& name) {
  return session::guard([&] {
    const std::lock_guard one_at_a_time(loading_);
    Files files;
    {
      const std::lock_guard lock(mutex_);
      const auto entry = entries_.find(name);
      if (entry == entries_.end()) throw Error{"there is no model '" + printable(name) + "'"};
      files = entry->second.files;
    }
    unload_versions(name, std::move(files));
  });
}

}  // namespace tenon::server
