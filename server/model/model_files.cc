#include "model_files.h"

#include <tenon/printable.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "guard.h"
#include "read_file.h"

namespace tenon::server {
namespace {

namespace fs = std::filesystem;

bool is_model_file(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".plan" || extension == ".engine" || extension == ".onnx";
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

std::string text_of(const std::string& path) {
  const auto bytes = session::read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ModelConfig parse_config(const std::string& text, bool is_json, const std::string& where) {
  auto config = parse_model_config(text, is_json);
  if (!config) throw Error{where + ": " + config.error()};
  return *std::move(config);
}

// A label of each class, by index.
std::vector<std::string> read_labels(const fs::path& path) {
  constexpr size_t kMost = size_t{1} << 24;
  if (std::error_code error; fs::file_size(path, error) > kMost && !error)
    throw Error{printable(path.string()) + ": expected labels of at most " + std::to_string(kMost)
                + " bytes"};
  std::istringstream lines(text_of(path));
  std::vector<std::string> labels;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(printable(line));
  }
  return labels;
}

}  // namespace

int64_t version_of(const std::string& name) {
  int64_t version = 0;
  const char* const end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data(), end, version);
  return error == std::errc() && last == end && version > 0 && name[0] != '0' ? version : 0;
}

ModelConfig read_config(const ModelFiles& files, const std::string& name) {
  const auto is_config = [](const auto& file) {
    const std::string of = fs::path(file.first).filename();
    return of == "config.pbtxt" || of == "config.json";
  };
  const auto file = std::ranges::find_if(files.times, is_config);
  const bool is_there = file != files.times.end();
  const std::string where = files.config ? printable(name) + ": the configuration that is given"
                            : is_there   ? printable(file->first)
                                         : "";
  ModelConfig config;
  if (files.config)
    config = parse_config(*files.config, true, where);
  else if (is_there)
    config = parse_config(text_of(file->first), file->first.ends_with(".json"), where);
  if (!config.name.empty() && config.name != name)
    throw Error{where + ": name: expected that of the folder, '" + printable(name) + "', found '"
                + printable(config.name) + "'"};
  config.name = name;
  config.folder = is_there ? fs::path(file->first).parent_path().string() : files.folder;
  // A configuration names files of its model, and no others: clients give some.
  const auto path_of = [&](const std::string& file) {
    const fs::path path = fs::path(config.folder) / file;
    if (config.folder.empty() || !files.times.contains(path)
        || path.filename().string().starts_with("config."))
      throw Error{where + ": the model's folder has no file '" + printable(file) + "'"};
    return path;
  };
  for (ModelConfig::DeclaredTensor& tensor : config.tensors)
    if (!tensor.label_file.empty()) tensor.labels = read_labels(path_of(tensor.label_file));
  if (config.sequence)
    for (const SequenceConfig::State& state : config.sequence->states)
      if (!state.initial_file.empty()) (void)path_of("initial_state/" + state.initial_file);
  return config;
}

std::map<int64_t, std::string> version_files(const ModelFiles& files, const ModelConfig& config) {
  std::map<int64_t, std::string> versions;
  for (const auto& [path, time] : files.times) {
    const fs::path file(path);
    const int64_t version = version_of(file.parent_path().filename());
    const std::string wanted = config.file;
    const bool is_named = wanted.empty() ? std::ranges::count(kModelFiles, file.filename()) > 0
                                         : file.filename() == wanted;
    if (version > 0 && is_named)
      versions.try_emplace(version, path);
    else if (files.times.size() == 1 && is_model_file(file) && version == 0)
      versions.try_emplace(1, path);
  }
  if (versions.empty())
    throw Error{
        printable(config.name) + ": has no VERSION/"
        + (config.file.empty() ? "model.plan or VERSION/model.onnx" : printable(config.file))};
  keep_wanted(config, versions);
  return versions;
}

std::map<std::string, ModelFiles> scan_models(const std::vector<std::string>& folders) {
  std::map<std::string, ModelFiles> models;
  for (const std::string& folder : folders) {
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
          models[name].times.emplace(entry.path(), entry.last_write_time(unknown));
        continue;
      }
      // NAME/file and NAME/VERSION/file; deeper folders are none of ours.
      std::map<std::string, fs::file_time_type> times;
      constexpr auto kFollow = fs::directory_options::follow_directory_symlink;
      for (fs::recursive_directory_iterator file(entry.path(), kFollow, unknown), end;
           !unknown && file != end; file.increment(unknown)) {
        if (file.depth() >= 1) file.disable_recursion_pending();
        std::error_code of_file;
        if (file->is_regular_file(of_file))
          times.emplace(file->path(), file->last_write_time(of_file));
      }
      ModelFiles& files = models[name];
      if (files.folder.empty()) files.folder = entry.path();
      files.times.merge(times);
    }
  }
  return models;
}

}  // namespace tenon::server
