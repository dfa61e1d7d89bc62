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

/// The least and the largest shape of an input; the axis of a batch is not looked at.
struct InputRange {
  Shape min, max;
};

/// Throws an Error where the shape is not one of the range or, along the axis of a batch, is no
/// batch of the model.
void check_shape(const ModelMetadata& metadata, size_t input, const InputRange& range,
                 const Tensor& tensor);

/// The inputs in the model's order, taken out of the request. @pre check_request() took it.
std::vector<Tensor> inputs_of(const ModelMetadata& metadata, InferRequest& request);

/// Throws an Error where the configuration has a tensor that the model does not have, or of another
/// datatype.
void check_declared(const ModelConfig& config, const ModelMetadata& metadata);

/// Gives outputs the labels that the configuration has for them.
void take_labels(const ModelConfig& config, ModelMetadata& metadata);

/// Whether a tensor may have both shapes, where -1 is any extent.
bool shapes_agree(const Shape& a, const Shape& b);

}  // namespace tenon::server
