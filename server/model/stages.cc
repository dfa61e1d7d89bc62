#include "stages.h"

#include <tenon/printable.h>

#include "check_request.h"
#include "guard.h"

namespace tenon::server {
namespace {

PipelineParts stage_parts(const ModelConfig& config) {
  if (config.backend == "tenon_picture") return picture_stage(config);
  if (config.backend == "tenon_boxes") return boxes_stage(config);
  throw Error{"backend: expected tenon_picture or tenon_boxes, found '" + printable(config.backend)
              + "'"};
}

std::shared_ptr<Model> load_stage(const std::string& version, const ModelConfig& config,
                                  const QueueLimits& limits) {
  if (config.max_batch_size.value_or(0) > 0)
    throw Error{"max_batch_size: a stage takes one request at a time; expected 0, found "
                + std::to_string(*config.max_batch_size)};
  PipelineParts parts = stage_parts(config);
  config.identify(parts.metadata, version, config.backend);
  parts.fails_by_requests = true;
  check_declared(config, parts.metadata);
  const auto instance = parts.instances.at(0);
  parts.instances.assign(static_cast<size_t>(config.instances), instance);
  return start_pipeline_model(std::move(parts), config, limits);
}

}  // namespace

Result<std::shared_ptr<Model>> load_stage_model(const std::string& version,
                                                const ModelConfig& config,
                                                const QueueLimits& limits) noexcept {
  return session::guard([&] {
    try {
      return load_stage(version, config, limits);
    } catch (const Error& cause) {
      throw Error{printable(config.name) + ": " + cause.text};
    }
  });
}

}  // namespace tenon::server
