// A model whose requests follow each other in sequences, with states that the server keeps.
#pragma once

#include <memory>

#include "pipeline_model.h"

namespace tenon::server {

/// Triton Inference Server's sequence batching. The requests of a sequence run one after the other,
/// in the order in which they came; those of different sequences run in batches. A sequence begins
/// with a request that says so, and ends with one that does, or when nothing came for the
/// configuration's time. Of more sequences than there may be at the same time, the later ones wait.
/// A request that fails changes no state.
/// @param model with all tensors, those of the sequence too
Result<std::shared_ptr<Model>> make_sequence_model(std::shared_ptr<Model> model,
                                                   const ModelConfig& config,
                                                   const QueueLimits& limits) noexcept;

}  // namespace tenon::server
