// The layers of a body as layers of the network around it.
#pragma once

#include <span>
#include <unordered_map>

#include "network/network.h"

namespace tenon {

/// Adds the layers of `body` to `network`, where `inputs` are its inputs, and infers them. Returns
/// what each tensor of the body is there. Names stay; outputs of the body are not marked.
std::unordered_map<const Value*, Value*> splice(const Network& body, std::span<Value* const> inputs,
                                                Network& network);

}  // namespace tenon
