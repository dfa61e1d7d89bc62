#include "repository.h"

#include <tenon/printable.h>

#include <algorithm>
#include <utility>

#include "cached_model.h"
#include "engine_model.h"
#include "ensemble.h"
#include "guard.h"
#include "sequence_model.h"
#include "stages.h"

namespace tenon::server {
namespace {

using session::value_of;

bool serves(const auto& versions) {
  return std::ranges::any_of(versions,
                             [](const auto& version) { return version.second.model != nullptr; });
}

std::set<std::string> members_of(const ModelConfig& config) {
  std::set<std::string> members;
  for (const EnsembleStep& step : config.steps) members.insert(step.model);
  return members;
}

// Members behind those whose steps they are.
void visit(const std::string& name, const std::map<std::string, std::set<std::string>>& members,
           std::set<std::string>& seen, std::vector<std::string>& order) {
  if (!seen.insert(name).second) return;
  if (const auto found = members.find(name); found != members.end())
    for (const std::string& member : found->second) visit(member, members, seen, order);
  order.push_back(name);
}

// Who has found a model gives it its request first; ensembles need their members until then.
void drain(std::vector<std::shared_ptr<Model>>& models) noexcept {
  std::ranges::partition(
      models, [](const auto& model) { return model->metadata().platform == "ensemble"; });
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

void Repository::log(Severity severity, const std::string& line) const {
  if (options_.log) options_.log(severity, line);
}

// The ensemble is not among the members of its members.
void Repository::check_circle(const std::string& name, const std::set<std::string>& members) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> left(members.begin(), members.end());
  std::set<std::string> seen;
  while (!left.empty()) {
    const std::string at = left.back();
    left.pop_back();
    const auto of = entries_.find(at);
    if (!seen.insert(at).second || of == entries_.end()) continue;
    if (of->second.members.contains(name))
      throw Error{printable(name) + ": ensemble_scheduling: '" + printable(at)
                  + "', which it has, has the ensemble itself as a step"};
    left.insert(left.end(), of->second.members.begin(), of->second.members.end());
  }
}

Result<std::shared_ptr<Model>> Repository::load_version(const std::string& path,
                                                        const std::string& version,
                                                        const ModelConfig& config) const {
  return session::guard([&] {
    auto model =
        value_of(!config.steps.empty() ? make_ensemble(*this, version, config)
                 : config.is_stage()   ? load_stage_model(version, config, options_.limits)
                                       : load_engine_model(path, version, config, options_.limits));
    if (config.sequence)
      model = value_of(make_sequence_model(std::move(model), config, options_.limits));
    if (config.caches_responses && options_.cache != nullptr)
      model = make_cached_model(std::move(model), options_.cache);
    return model;
  });
}

Repository::Versions Repository::load_versions(const std::string& name, const ModelFiles& files,
                                               const ModelConfig& config) {
  constexpr size_t kMaxNamed = 10;
  std::vector<std::string> unused = config.unused;
  if (config.caches_responses && options_.cache == nullptr)
    unused.emplace_back("response_cache, as the server has no --cache-config");
  if (unused.size() > kMaxNamed) {
    unused.resize(kMaxNamed);
    unused.emplace_back("and more");
  }
  for (const std::string& field : unused)
    log(Severity::kWarning,
        printable(name) + ": its configuration has a field without effect: " + field);
  check_circle(name, members_of(config));
  std::map<int64_t, std::string> paths = {{1, ""}};
  if (config.steps.empty() && !config.is_stage()) paths = version_files(files, config);
  Versions versions;
  for (const auto& [number, path] : paths) {
    Version& version = versions[number];
    auto model = load_version(path, std::to_string(number), config);
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
    for (auto& [number, version] : now.versions) {
      const auto next = entry.versions.find(number);
      const bool stays = next != entry.versions.end() && next->second.model == version.model;
      if (version.model != nullptr && !stays) before.push_back(std::move(version.model));
    }
    now = std::move(entry);
  }
  drain(before);
}

// A version that cannot be loaded goes on as it was, if it was there, and so does the model where
// nothing of it can be; the error says why.
void Repository::load_files(const std::string& name, const ModelFiles& files) {
  Entry entry;
  entry.files = files;
  try {
    const ModelConfig config = read_config(files, name);
    entry.members = members_of(config);
    entry.versions = load_versions(name, files, config);
    for (const auto& [number, version] : entry.versions)
      if (version.state == ModelState::kFailed && entry.reason.empty())
        entry.reason = version.reason;
  } catch (const Error& cause) {
    entry.reason = cause.text;
  }
  if (!entry.reason.empty()) {
    log(Severity::kError, entry.reason);
    const std::lock_guard lock(mutex_);
    // Of a client's configuration nothing stays.
    if (files.config && !serves(entry.versions)) throw Error{entry.reason};
    Entry& now = entries_[name];
    now.files = files;  // it is tried again when they change
    now.members = entry.members;
    if (!serves(entry.versions) && serves(now.versions)) {
      now.reason = entry.reason;
      throw Error{entry.reason};
    }
    for (auto& [number, version] : entry.versions)
      if (const auto before = now.versions.find(number);
          version.model == nullptr && before != now.versions.end() && before->second.model) {
        version.model = before->second.model;
        version.state = ModelState::kReady;
      }
  }
  const std::string reason = entry.reason;
  for (const auto& [number, version] : entry.versions)
    if (version.model != nullptr)
      log(Severity::kInfo, printable(name) + ": version " + std::to_string(number) + " is ready");
  const bool is_served = serves(entry.versions);
  replace(name, std::move(entry));
  if (is_served) load_dependents(name);
  if (!reason.empty()) throw Error{reason};
}

// Ensembles that have it as a step are checked against it.
void Repository::load_dependents(const std::string& name) {
  std::map<std::string, ModelFiles> dependents;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ensemble, entry] : entries_)
      if (entry.members.contains(name) && (serves(entry.versions) || !entry.reason.empty()))
        dependents[ensemble] = entry.files;
  }
  try_to_load(dependents);
}

// What fails is logged, and in the index.
void Repository::try_to_load(const std::map<std::string, ModelFiles>& models) {
  std::map<std::string, std::set<std::string>> members;
  for (const auto& [name, files] : models)
    (void)session::guard([&] { members[name] = members_of(read_config(files, name)); });
  std::vector<std::string> order;
  std::set<std::string> seen;
  for (const auto& [name, files] : models) visit(name, members, seen, order);
  for (const std::string& name : order) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return;
    }
    if (const auto found = models.find(name); found != models.end())
      (void)session::guard([&] { load_files(name, found->second); });
  }
}

// It is loaded again when its files are not these.
void Repository::unload_versions(const std::string& name, ModelFiles files) {
  Entry entry;
  entry.files = std::move(files);
  replace(name, std::move(entry));
  log(Severity::kInfo, printable(name) + ": unloaded");
}

Result<void> Repository::start() noexcept {
  return session::guard([&] {
    {
      const std::lock_guard one_at_a_time(loading_);
      try_to_load(scan_models(options_.folders));
    }
    {
      const std::lock_guard lock(mutex_);
      if (is_stopping_) return;
      is_loaded_ = true;
    }
    if (options_.poll.count() > 0) poller_ = std::thread([this] { poll(); });
  });
}

void Repository::poll() {
  for (;;) {
    std::map<std::string, ModelFiles> loaded;
    std::set<std::string> there;
    {
      std::unique_lock lock(mutex_);
      if (stopping_.wait_for(lock, options_.poll, [&] { return is_stopping_; })) return;
      for (const auto& [name, entry] : entries_) {
        loaded[name] = entry.files;
        // Its folder may have been seen while its files went.
        if (serves(entry.versions) || !entry.reason.empty()) there.insert(name);
      }
    }
    (void)session::guard([&] {
      const std::map<std::string, ModelFiles> found = scan_models(options_.folders);
      std::map<std::string, ModelFiles> changed;
      for (const auto& [name, files] : found) {
        const auto before = loaded.find(name);
        if (before == loaded.end() || before->second != files) changed[name] = files;
      }
      const std::lock_guard one_at_a_time(loading_);
      try_to_load(changed);
      for (const std::string& name : there)
        if (!found.contains(name)) unload_versions(name, {});
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

Result<void> Repository::load(const std::string& name, const std::optional<std::string>& config) {
  return session::guard([&] {
    auto found = scan_models(options_.folders);
    const auto files = found.find(name);
    if (files == found.end()) throw Error{"the repository has no model '" + printable(name) + "'"};
    files->second.config = config;
    const std::lock_guard one_at_a_time(loading_);
    // Members that are not there are loaded with it.
    std::map<std::string, ModelFiles> missing;
    (void)session::guard([&] {
      for (const std::string& member : members_of(read_config(files->second, name)))
        if (versions(member).empty() && member != name && found.contains(member))
          missing[member] = found.at(member);
    });
    try_to_load(missing);
    load_files(name, files->second);
  });
}

Result<void> Repository::unload(const std::string& name, bool with_members) {
  return session::guard([&] {
    const std::lock_guard one_at_a_time(loading_);
    std::map<std::string, ModelFiles> unloaded;
    {
      const std::lock_guard lock(mutex_);
      const auto add = [&](const std::string& each) {
        if (const auto entry = entries_.find(each); entry != entries_.end())
          unloaded[each] = entry->second.files;
      };
      add(name);
      if (unloaded.empty()) throw Error{"there is no model '" + printable(name) + "'"};
      if (with_members) std::ranges::for_each(entries_[name].members, add);
    }
    unload_versions(name, unloaded[name]);
    unloaded.erase(name);
    for (auto& [member, files] : unloaded) unload_versions(member, std::move(files));
  });
}

}  // namespace tenon::server
