// A model over a pipeline: what answers batches of tensors, as a model that answers requests.
#pragma once

#include <tenon/serve/engine_instances.h>

#include <memory>
#include <vector>

#include "check_request.h"
#include "model.h"
#include "model_config.h"

namespace tenon::server {

/// Bounds of a model's queue.
struct QueueLimits {
  size_t max_requests = 1024;
  size_t max_bytes = size_t{1} << 30;  ///< of the inputs of requests that are not answered
};

struct PipelineParts {
  ModelMetadata metadata;
  std::vector<InputRange> ranges;  ///< of each input
  /// They get the inputs, and give the outputs, in the order of the metadata.
  std::vector<serve::Instance<serve::Tensors, serve::Tensors>> instances;
  /// What fails an instance is in the request's tensors: it is no failure of the model.
  bool fails_by_requests = false;
};

/// Takes requests when all instances are warm. Throws an Error.
std::shared_ptr<Model> start_pipeline_model(PipelineParts parts, const ModelConfig& config,
                                            const QueueLimits& limits);

}  // namespace tenon::server
