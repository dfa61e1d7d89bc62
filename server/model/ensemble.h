// A graph of models that answers requests as one model.
#pragma once

#include <memory>
#include <string>

#include "model_config.h"
#include "models.h"

namespace tenon::server {

/// Triton Inference Server's ensembles. A step runs as soon as its tensors are there, beside
/// others. Each request holds the members that there are when it comes, so that it is answered by
/// one state of the repository. The deadline, the priority, the stop token and the place in a
/// sequence are the steps' too; when a step fails, the others are cancelled, and the error names
/// it.
/// @param models where members are found, which outlives the ensemble.
/// @return an error where a step's model is not there, tensors are missing, come from two places or
/// lead in a circle, or where types or shapes do not agree.
Result<std::shared_ptr<Model>> make_ensemble(const Models& models, const std::string& version,
                                             const ModelConfig& config) noexcept;

}  // namespace tenon::server
