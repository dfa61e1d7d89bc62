// What a model has done so far, as Triton Inference Server counts it.
#pragma once

#include <cstdint>

#include "model.h"

namespace tenon::server {

struct InferenceStatistics {
  struct Duration {
    uint64_t count = 0;
    double seconds = 0;  ///< of all of them
  };

  uint64_t inferences = 0;  ///< the items of all batches
  uint64_t executions = 0;  ///< batches
  uint64_t pending = 0;     ///< requests that wait for a batch now
  Duration success, failure, queue, compute_input, compute_infer, compute_output;
  Duration cache_hit, cache_miss;
};

InferenceStatistics inference_statistics(const Model& model);

/// As pipelines count what became of a job.
serve::Failure pipeline_failure(Failure failure);

}  // namespace tenon::server
