// Runs layers on host tensors with their reference kernels: constants are folded with it, and tests
// use it as an oracle.
#pragma once

#include <span>
#include <vector>

#include "network/network.h"

namespace tenon {

/// The outputs of one layer. `inputs` follow node.inputs; null for one left out.
/// @throws Error naming the layer when its shape rule or kernel refuses the inputs, or when its
///         outputs would take more than `max_bytes`.
std::vector<Tensor> run_reference(const Node& node, std::span<const Tensor* const> inputs,
                                  size_t max_bytes = SIZE_MAX);

/// The outputs of a network, in the order of network.outputs(), for tensors in the order of
/// network.inputs(). Throws when an input's type or shape is not what the network declares.
std::vector<Tensor> run_reference(const Network& network, std::span<const Tensor> inputs);

/// The tensor that `value` always is: its constant, or what the layers before it make of constants
/// alone (kept in Value::constant). Null when it depends on an input of the network or on a plugin.
/// Every tensor made on the way is taken off `budget`, in bytes; throws when it does not suffice.
const Tensor* folded_constant(Value& value, size_t& budget);

}  // namespace tenon
