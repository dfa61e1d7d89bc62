// From INetworkDefinition and IBuilderConfig to a Plan: what is asked for is checked, then planned.
#pragma once

#include "api/builder_config.h"
#include "api/network_definition.h"
#include "optimize/precision.h"
#include "plan/plan.h"

namespace tenon {

/// The network itself is not changed.
/// @param max_batch the largest batch, of a network with an implicit one.
/// Throws Error on what cannot be built, or is not supported
/// yet.
Plan build(const NetworkDefinition& network, const BuilderSettings& settings, int32_t max_batch,
           const Reporter& reporter);

/// What the settings build for. Throws when this machine does not have it.
const Target& target_of(const BuilderSettings& settings);

/// The types that the settings give to layers on `target`; warns about those that change nothing.
Precision precision_of(const NetworkDefinition& network, const BuilderSettings& settings,
                       const Target& target, const Log& log);

/// Whether ranges decide what runs in int8, and not the network itself; warns where a flag asks for
/// that and types are fixed.
bool is_to_be_quantized(const NetworkDefinition& network, const BuilderSettings& settings,
                        const Log& log);

/// A copy of what the network's stages start from, but for quantize_borders(): the batch is a
/// dimension, and inputs have the types of the border, where they are not int8 of floats.
/// @param max_batch as for build().
std::unique_ptr<Network> copy_to_build(const NetworkDefinition& network, int32_t max_batch);

/// Throws, naming it, for a setting or network property that is not supported yet; warns about
/// settings that have no effect.
void check_supported(const NetworkDefinition& network, const BuilderSettings& settings,
                     const Log& log);

}  // namespace tenon
