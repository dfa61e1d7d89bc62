// BuilderFlag::kINT8 on a network without Quantize layers: ranges of tensors, from the application
// or by calibration, decide which layers run in int8.
#pragma once

#include "api/builder_config.h"
#include "api/network_definition.h"
#include "calibration/placement.h"
#include "plan/compile.h"

namespace tenon {

/// Whether the network says itself where it is quantized.
bool has_quantization(const Network& network);

/// Whether there are ranges to quantize by.
bool has_ranges(const NetworkDefinition& definition, const BuilderSettings& settings);

/// What ITensor::setDynamicRange says, by the names of tensors; nothing of ranges that are empty.
Scales dynamic_ranges(const NetworkDefinition& definition);

/// Adds the scales of tensors that have none yet, by the calibrator's cache or, if it has none, by
/// its batches; then it is handed the cache. Batches have the types in which layers read the
/// inputs.
/// @param network a copy of `definition`'s, on its way to the plan.
/// @param options the build's; its profiles may stand in for the calibration profile.
/// Throws Error on a calibrator or cache that is not usable, and on a dynamic range that is empty.
void add_calibrated(Scales& scales, const Network& network, const NetworkDefinition& definition,
                    const BuilderSettings& settings, const Target& target,
                    const BuildOptions& options);

/// Simplifies `network` and puts Quantize and Dequantize layers around those that run in int8. Logs
/// what becomes of each layer with weights.
/// @param options the build's.
/// Throws Error where a layer must run in int8 (kOBEY_PRECISION_CONSTRAINTS) and cannot.
void quantize(Network& network, const Scales& scales, const Target& target,
              const BuildOptions& options);

}  // namespace tenon
