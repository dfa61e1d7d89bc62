#pragma once

#include <NvInfer.h>
#include <nanobind/nanobind.h>

namespace tenon::python {

/// Binds the methods that add layers, except those of plugins.
void bind_network_layers(nanobind::class_<nvinfer1::INetworkDefinition>& network);

}  // namespace tenon::python
