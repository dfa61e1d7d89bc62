#include "tenon/session/tensor.h"

#include <tenon/printable.h>

namespace tenon::session {

using nvinfer1::OptProfileSelector;

std::string Tensor::label() const {
  return (is_input ? "input '" : "output '") + printable(name) + "'";
}

std::vector<Tensor> tensors_of(const nvinfer1::ICudaEngine& engine, int32_t profile) {
  std::vector<Tensor> tensors;
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    Tensor tensor;
    tensor.name = name;
    tensor.type = engine.getTensorDataType(name);
    tensor.format = Format(engine.getTensorFormat(name, profile));
    tensor.is_input = engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
    tensor.is_on_host = engine.getTensorLocation(name) == nvinfer1::TensorLocation::kHOST;
    tensor.decides_shapes = tensor.is_input && engine.isShapeInferenceIO(name);
    tensor.shape = engine.getTensorShape(name);
    if (tensor.is_input) {
      tensor.min = engine.getProfileShape(name, profile, OptProfileSelector::kMIN);
      tensor.opt = engine.getProfileShape(name, profile, OptProfileSelector::kOPT);
      tensor.max = engine.getProfileShape(name, profile, OptProfileSelector::kMAX);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace tenon::session
