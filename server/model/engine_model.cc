#include "engine_model.h"

#include <tenon/printable.h>

#include <utility>

#include "engine_file.h"
#include "guard.h"

namespace tenon::server {
namespace {

std::shared_ptr<Model> load_engine(const std::string& path, const std::string& version,
                                   const ModelConfig& config, const QueueLimits& limits) {
  std::vector<int> devices = config.devices;
  if (devices.empty()) devices.push_back(serve::kCurrentDevice);
  PipelineParts parts;
  for (const int device : devices) {
    const auto engine = open_engine(path, config, {device, ""});
    if (parts.instances.empty()) {
      EngineDescription description = describe_engine(engine->engine(), version, config);
      parts.metadata = std::move(description.metadata);
      parts.ranges = std::move(description.ranges);
    }
    for (auto& instance : make_instances(engine, config, parts.metadata.max_batch))
      parts.instances.push_back(std::move(instance));
  }
  return start_pipeline_model(std::move(parts), config, limits);
}

}  // namespace

Result<std::shared_ptr<Model>> load_engine_model(const std::string& path,
                                                 const std::string& version,
                                                 const ModelConfig& config,
                                                 const QueueLimits& limits) noexcept {
  return session::guard([&]() -> std::shared_ptr<Model> {
    try {
      return load_engine(path, version, config, limits);
    } catch (const Error& cause) {
      throw Error{printable(config.name) + ": " + cause.text};
    }
  });
}

}  // namespace tenon::server
