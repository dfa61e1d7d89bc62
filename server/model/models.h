// What front ends see of the models that are there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model.h"

namespace tenon::server {

enum class ModelState { kUnloaded, kLoading, kReady, kUnloading, kFailed };

/// As the protocol writes it: "READY".
const char* name_of(ModelState state);

/// A version of a model in the repository.
struct ModelStatus {
  std::string name, version;
  ModelState state = ModelState::kUnloaded;
  std::string reason;  ///< why it is in that state; empty where that says all
};

/// All members may be called from any thread.
class Models {
 public:
  virtual ~Models() = default;

  /// The loaded version, or the newest one for an empty `version`; who holds it can use it while
  /// it is replaced. An error that says what there is where there is none.
  virtual std::variant<std::shared_ptr<Model>, RequestError> find(
      const std::string& name, const std::string& version) const = 0;
  /// Versions of a model that are loaded, ascending; empty where there is no such model.
  virtual std::vector<std::string> versions(const std::string& name) const = 0;
  /// Everything in the repository, by name and version.
  virtual std::vector<ModelStatus> index() const = 0;
  /// Whether all models that are to be loaded are.
  virtual bool is_ready() const = 0;

  /// Loads the model anew from its folder; the versions of before serve until then, and answer
  /// what they have. Waits.
  /// @param config JSON in place of the configuration that is in the folder
  virtual Result<void> load(const std::string& name,
                            const std::optional<std::string>& config = {}) = 0;
  /// Requests find it no more; what came before is answered. Waits.
  /// @param with_members of an ensemble, the models of its steps, too
  virtual Result<void> unload(const std::string& name, bool with_members = false) = 0;
};

/// What to answer to a request to load that has a parameter which is not `config`, or no string.
std::string load_parameter_error(const std::string& name);

/// Versions that are loaded, by name and version; of one model, or one version, where these are
/// given.
std::vector<std::shared_ptr<Model>> loaded_models(const Models& models,
                                                  const std::string& name = {},
                                                  const std::string& version = {});

}  // namespace tenon::server
