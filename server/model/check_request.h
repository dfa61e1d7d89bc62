// Whether a request's tensors are those of a model, and what its configuration says of them.
#pragma once

#include <functional>

#include "model.h"
#include "model_config.h"

namespace tenon::server {

/// Throws an Error that names the tensor: inputs that the model does not have, that are missing,
/// given twice, or of another datatype; outputs that it does not have, or asked for twice.
/// @param check_shape throws where input i of the model cannot have the tensor's shape.
void check_request(const ModelMetadata& metadata, const InferRequest& request,
                   const std::function<void(size_t i, const Tensor&)>& check_shape);

/// Throws an Error where the configuration has a tensor that the model does not have, or of another
/// datatype.
void check_declared(const ModelConfig& config, const ModelMetadata& metadata);

/// Gives outputs the labels that the configuration has for them.
void take_labels(const ModelConfig& config, ModelMetadata& metadata);

/// Whether a tensor may have both shapes, where -1 is any extent.
bool shapes_agree(const Shape& a, const Shape& b);

}  // namespace tenon::server
