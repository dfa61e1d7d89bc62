// Runs layers that have bodies: each body is an engine with a context of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "network/control_flow.h"
#include "run/engine.h"

namespace tenon {

/// @param device that the bodies work on, and where inputs and outputs lie
/// @param inputs, outputs what the layer is called with; -1 for data-dependent extents.
std::unique_ptr<Execution> make_control_flow(const ControlFlow& layer,
                                             std::span<const std::shared_ptr<const Engine>> bodies,
                                             const Device& device, std::vector<TensorSpec> inputs,
                                             std::vector<TensorSpec> outputs);

}  // namespace tenon
