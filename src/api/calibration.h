// BuilderFlag::kINT8 on a network without Quantize layers: ranges of tensors, from the application
// or by calibration, decide which layers run in int8.
#pragma once

#include "api/builder_config.h"
#include "api/network_definition.h"
#include "plan/compile.h"

namespace tenon {

/// Whether the network says itself where it is quantized.
bool has_quantization(const Network& network);

/// Whether quantize() has ranges to go by.
bool has_ranges(const NetworkDefinition& definition, const BuilderSettings& settings);

/// Simplifies `network` and puts Quantize and Dequantize layers around those that run in int8. A
/// tensor's range is what ITensor::setDynamicRange says, else what the calibrator's cache or, if it
/// has none, its batches give; then it is handed the cache. Logs what becomes of each layer with
/// weights.
/// @param network a copy of `definition`'s, on its way to the plan.
/// @param options the build's; its profiles may stand in for the calibration profile.
/// Throws Error on a calibrator or cache that is not usable, on a range that is empty, and where a
/// layer must run in int8 (kOBEY_PRECISION_CONSTRAINTS) and cannot.
void quantize(Network& network, const NetworkDefinition& definition,
              const BuilderSettings& settings, const Target& target, const BuildOptions& options);

}  // namespace tenon
