#include "check_request.h"

#include <tenon/printable.h>
#include <tenon/session/shape.h>

#include <algorithm>
#include <utility>

#include "datatype.h"

namespace tenon::server {
namespace {

// "there is no input 'z'; the inputs are x, y"
[[noreturn]] void refuse(const std::string& kind, const std::string& name,
                         const std::vector<TensorMetadata>& tensors) {
  std::string text = "there is no " + kind + " '" + printable(name) + "'; ";
  text += tensors.size() == 1 ? "the " + kind + " is" : "the " + kind + "s are";
  for (size_t i = 0; i < tensors.size(); ++i)
    text += (i == 0 ? " " : ", ") + printable(tensors[i].name);
  throw Error{text};
}

void check_inputs(const ModelMetadata& metadata, const InferRequest& request,
                  const std::function<void(size_t, const Tensor&)>& check_shape) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const auto& [name, tensor] = request.inputs[i];
    const auto info = std::ranges::find(metadata.inputs, name, &TensorMetadata::name);
    if (info == metadata.inputs.end()) refuse("input", name, metadata.inputs);
    for (size_t other = 0; other < i; ++other)
      if (request.inputs[other].name == name)
        throw Error{"input '" + printable(name) + "' is given twice"};
    if (tensor.type() != info->type)
      throw Error{"input '" + printable(name) + "' has the datatype "
                  + std::string(datatype_name(tensor.type())) + "; expected "
                  + std::string(datatype_name(info->type))};
    check_shape(static_cast<size_t>(info - metadata.inputs.begin()), tensor);
    if (metadata.max_batch > 1 && tensor.size(0) != request.inputs[0].tensor.size(0))
      throw Error{"inputs have batches of " + std::to_string(tensor.size(0)) + " and "
                  + std::to_string(request.inputs[0].tensor.size(0)) + "; expected the same"};
  }
  for (const TensorMetadata& input : metadata.inputs)
    if (std::ranges::find(request.inputs, input.name, &NamedTensor::name) == request.inputs.end())
      throw Error{"input '" + printable(input.name) + "' is missing"};
}

}  // namespace

void check_request(const ModelMetadata& metadata, const InferRequest& request,
                   const std::function<void(size_t, const Tensor&)>& check_shape) {
  check_inputs(metadata, request, check_shape);
  for (const std::string& name : request.outputs) {
    if (std::ranges::find(metadata.outputs, name, &TensorMetadata::name) == metadata.outputs.end())
      refuse("output", name, metadata.outputs);
    if (std::ranges::count(request.outputs, name) > 1)
      throw Error{"output '" + printable(name) + "' is asked for twice"};
  }
}

void check_shape(const ModelMetadata& metadata, size_t input, const InputRange& range,
                 const Tensor& tensor) {
  const auto& [min, max] = range;
  // Whether a batch's extent of axis 0 may be this one is the concern of who runs it.
  const auto is_batch_axis = [&](size_t axis) { return axis == 0 && metadata.max_batch > 1; };
  const auto max_batch = static_cast<int64_t>(metadata.max_batch);
  bool fits = tensor.shape().size() == min.size();
  for (size_t axis = 0; fits && axis < min.size(); ++axis) {
    const int64_t extent = tensor.shape()[axis];
    fits = is_batch_axis(axis) ? extent >= 1 && extent <= max_batch
                               : extent >= min[axis] && extent <= max[axis];
  }
  if (fits) return;
  Shape largest = max;
  if (!largest.empty() && is_batch_axis(0)) largest[0] = max_batch;
  throw Error{"input '" + printable(metadata.inputs[input].name) + "' has the shape "
              + tensor.shape_string() + "; expected " + session::shape_text(min) + " to "
              + session::shape_text(largest)};
}

std::vector<Tensor> inputs_of(const ModelMetadata& metadata, InferRequest& request) {
  std::vector<Tensor> tensors;
  for (const TensorMetadata& input : metadata.inputs)
    tensors.push_back(
        std::move(std::ranges::find(request.inputs, input.name, &NamedTensor::name)->tensor));
  return tensors;
}

void check_declared(const ModelConfig& config, const ModelMetadata& metadata) {
  for (const ModelConfig::DeclaredTensor& declared : config.tensors) {
    const auto& all = declared.is_input ? metadata.inputs : metadata.outputs;
    const std::string label =
        (declared.is_input ? "input '" : "output '") + printable(declared.name) + "'";
    const auto found = std::ranges::find(all, declared.name, &TensorMetadata::name);
    if (found == all.end()) throw Error{"the configuration has " + label + ", and the model not"};
    if (!declared.datatype.empty() && declared.datatype != datatype_name(found->type))
      throw Error{label + " is " + declared.datatype + " in the configuration, and "
                  + std::string(datatype_name(found->type)) + " in the model"};
  }
}

void take_labels(const ModelConfig& config, ModelMetadata& metadata) {
  for (const ModelConfig::DeclaredTensor& declared : config.tensors) {
    const auto found = std::ranges::find(metadata.outputs, declared.name, &TensorMetadata::name);
    if (!declared.is_input && found != metadata.outputs.end()) found->labels = declared.labels;
  }
}

bool shapes_agree(const Shape& a, const Shape& b) {
  return std::ranges::equal(
      a, b, [](int64_t one, int64_t other) { return one == other || one < 0 || other < 0; });
}

}  // namespace tenon::server
