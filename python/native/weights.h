// Weights as Python objects, and their NumPy arrays.
#pragma once

#include <NvInfer.h>
#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace tenon::python {

/// trt.Weights: values and the object that owns their memory. A network that is given one keeps it
/// alive, as TensorRT does not copy weights.
struct PythonWeights {
  nvinfer1::Weights weights{nvinfer1::DataType::kFLOAT, nullptr, 0};
  nb::object owner;
};

/// The weights themselves; empty ones for a null pointer, which is None in Python.
inline nvinfer1::Weights weights_of(const PythonWeights* weights) {
  return weights == nullptr ? PythonWeights{}.weights : weights->weights;
}

/// A one-dimensional NumPy array over the weights' memory, which `owner` keeps alive; a Weights
/// object when NumPy lacks the type.
nb::object weights_to_numpy(const nvinfer1::Weights& weights, nb::handle owner);

}  // namespace tenon::python
