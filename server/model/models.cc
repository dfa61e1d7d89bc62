#include "models.h"

#include <tenon/printable.h>

#include <set>

namespace tenon::server {

const char* name_of(ModelState state) {
  switch (state) {
    case ModelState::kLoading:
      return "LOADING";
    case ModelState::kReady:
      return "READY";
    case ModelState::kUnloading:
      return "UNLOADING";
    case ModelState::kUnloaded:
    case ModelState::kFailed:
      break;
  }
  return "UNAVAILABLE";
}

std::string load_parameter_error(const std::string& name) {
  return "parameter '" + printable(name) + "': "
         + (name == "config" ? "expected a string of JSON"
            : name.starts_with("file:")
                ? "a model's files are those of its folder; others are not supported yet"
                : "expected 'config'");
}

std::vector<std::shared_ptr<Model>> loaded_models(const Models& models, const std::string& name,
                                                  const std::string& version) {
  std::set<std::string> names;
  if (!name.empty()) names.insert(name);
  if (name.empty())
    for (const ModelStatus& status : models.index()) names.insert(status.name);
  std::vector<std::shared_ptr<Model>> loaded;
  for (const std::string& each : names)
    for (const std::string& number : models.versions(each)) {
      if (!version.empty() && number != version) continue;
      auto found = models.find(each, number);
      if (auto* const model = std::get_if<std::shared_ptr<Model>>(&found))
        loaded.push_back(std::move(*model));
    }
  return loaded;
}

}  // namespace tenon::server
