// TensorRT 8.x's names, by which inputs and outputs are numbered.
#pragma once

#include <NvInferRuntime.h>

#include <vector>

#include "bind.h"
#include "handle.h"

namespace tenon::python {

/// Adds 8.x's methods to the classes.
void bind_engine_8x(nb::class_<nvinfer1::ICudaEngine>& engine);
void bind_context_8x(nb::class_<nvinfer1::IExecutionContext>& context);

/// The addresses of all bindings, of which a run uses those of the selected profile; `first` is
/// where they begin.
struct Bindings {
  std::vector<void*> all;
  size_t first;
};

/// From one address for each input and output, or, as in 8.x, for each of every profile.
/// ValueError for another number of them.
Bindings bindings_of(const nvinfer1::IExecutionContext& context,
                     const std::vector<Address>& addresses);

}  // namespace tenon::python
