// The tensors and the steps of an ensemble, checked against the models.
#pragma once

#include <string>
#include <vector>

#include "model_config.h"
#include "models.h"

namespace tenon::server {

struct EnsembleGraph {
  /// A tensor of a model, and its number among the ensemble's.
  struct Edge {
    std::string name;
    size_t tensor = 0;
  };
  struct Step {
    std::string model, version;  ///< an empty version is the newest
    std::string label;           ///< "step 2 (model 'yolo')"
    std::vector<Edge> inputs, outputs;
  };

  ModelMetadata metadata;
  std::vector<Step> steps;
  std::vector<Edge> inputs, outputs;  ///< of the ensemble, in the order of its metadata
  /// For each tensor, the steps that it goes to; a step that takes it twice is there twice.
  std::vector<std::vector<size_t>> readers;
};

/// Throws an Error.
EnsembleGraph ensemble_graph(const Models& models, const std::string& version,
                             const ModelConfig& config);

}  // namespace tenon::server
