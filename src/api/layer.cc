#include "api/layer.h"

namespace tenon {

void LayerView::setName(const char* name) noexcept {
  reporter().run(
      [&] {
        require(name != nullptr, "layer {}: the new name is null", describe(node_));
        node_.name = name;
      },
      "ILayer::setName");
}

int32_t LayerView::getNbInputs() const noexcept {
  int32_t count = static_cast<int32_t>(node_.inputs.size());
  while (count > 0 && getInput(count - 1) == nullptr) --count;
  return count;
}

nvinfer1::ITensor* LayerView::getInput(int32_t index) const noexcept {
  if (index < 0) return nullptr;
  Value* value = input(static_cast<size_t>(index));
  if (value == nullptr || (value->is_weight() && holds_weights(index))) return nullptr;
  return reporter().guard<nvinfer1::ITensor*>(
      nullptr, [&] { return &owner_.tensor_view(*value); }, "ILayer::getInput");
}

nvinfer1::ITensor* LayerView::getOutput(int32_t index) const noexcept {
  if (index < 0 || index >= getNbOutputs()) return nullptr;
  return reporter().guard<nvinfer1::ITensor*>(
      nullptr, [&] { return &owner_.tensor_view(*node_.outputs[static_cast<size_t>(index)]); },
      "ILayer::getOutput");
}

void LayerView::setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept {
  reporter().run(
      [&] {
        require(index >= 0 && takes_input(index), "layer {} has no input {}", describe(node_),
                index);
        Value& value = owner_.value_of(tensor);
        put_input(static_cast<size_t>(index), &value);
        input_was_set(index);
        owner_.touch();
      },
      "ILayer::setInput");
}

void LayerView::put_input(size_t i, Value* value) {
  if (value == nullptr && i >= node_.inputs.size()) return;
  if (i >= node_.inputs.size()) node_.inputs.resize(i + 1, nullptr);
  node_.inputs[i] = value;
}

void LayerView::setPrecision(DataType type) noexcept {
  change(
      [&] {
        require(!owner_.strongly_typed(), "precisions cannot be set in a strongly typed network");
        node_.precision = checked(type);
      },
      "ILayer::setPrecision");
}

DataType LayerView::getPrecision() const noexcept {
  return node_.precision.value_or(DataType::kFLOAT);
}

void LayerView::setOutputType(int32_t index, DataType type) noexcept {
  change(
      [&] {
        require(!owner_.strongly_typed(), "output types cannot be set in a strongly typed network");
        require(index >= 0 && index < getNbOutputs(), "there is no output {}", index);
        node_.output_types[static_cast<size_t>(index)] = checked(type);
      },
      "ILayer::setOutputType");
}

DataType LayerView::getOutputType(int32_t index) const noexcept {
  if (outputTypeIsSet(index)) return *node_.output_types[static_cast<size_t>(index)];
  nvinfer1::ITensor* output = getOutput(index);
  return output != nullptr ? output->getType() : DataType::kFLOAT;
}

bool LayerView::outputTypeIsSet(int32_t index) const noexcept {
  return index >= 0 && index < getNbOutputs()
         && node_.output_types[static_cast<size_t>(index)].has_value();
}

void LayerView::resetOutputType(int32_t index) noexcept {
  if (index >= 0 && index < getNbOutputs()) node_.output_types[static_cast<size_t>(index)].reset();
}

void LayerView::setMetadata(const char* metadata) noexcept {
  reporter().run([&] { node_.metadata = metadata != nullptr ? metadata : ""; },
                 "ILayer::setMetadata");
}

bool LayerView::setNbRanks(int32_t ranks) noexcept {
  return reporter().run(
      [&] {
        if (ranks != 1) not_supported();
      },
      "ILayer::setNbRanks");
}

Shape spatial_extents(const nvinfer1::Dims& dims, int64_t min, const char* what) {
  require(dims.nbDims == 2 || dims.nbDims == 3, "{} has {} entries; 2 or 3 are possible", what,
          dims.nbDims);
  const Shape extents(dims);
  for (int64_t extent : extents)
    require(extent >= min, "{} is {}; each entry must be at least {}", what, extents, min);
  return extents;
}

}  // namespace tenon
