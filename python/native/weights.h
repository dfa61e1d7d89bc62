// Weights as Python objects, and their NumPy arrays.
#pragma once

#include <NvInfer.h>
#include <nanobind/nanobind.h>

#include <exception>

#include "bind.h"

namespace nb = nanobind;

namespace tenon::python {

/// trt.Weights: values and the object that owns their memory. A network copies them.
struct PythonWeights {
  nvinfer1::Weights weights{nvinfer1::DataType::kFLOAT, nullptr, 0};
  nb::object owner;
};

/// Weights over an array's memory. A C-contiguous array in host memory is not copied. Throws when
/// the object is not such an array or when TensorRT lacks its type.
PythonWeights weights_from_array(nb::handle array);

/// Weights as an argument: a Weights object, an array, or None where that is allowed. What
/// weights_from_array() throws comes out when they are used, so that users see it.
struct GivenWeights {
  nb::object object;
  std::exception_ptr fault;

  /// The weights themselves; empty ones for None.
  nvinfer1::Weights weights() const;
};

/// A one-dimensional NumPy array over the weights' memory, which `owner` keeps alive; a Weights
/// object when NumPy lacks the type.
Any weights_to_numpy(const nvinfer1::Weights& weights, nb::handle owner);

}  // namespace tenon::python

namespace nanobind::detail {

template <> struct type_caster<tenon::python::GivenWeights> {
  NB_TYPE_CASTER(tenon::python::GivenWeights, const_name("Weights | numpy.ndarray"))
  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept;
};

}  // namespace nanobind::detail
