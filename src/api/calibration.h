// INT8 calibrators.
#pragma once

#include <NvInfer.h>

#include "base/log.h"
#include "network/network.h"

namespace tenon {

/// Calls a calibrator as a build in int8 does: for its cache, and without one for its batches. What
/// it gives is not used: no ranges are found yet, and none are written.
void call_calibrator(nvinfer1::IInt8Calibrator& calibrator, const Network& network, const Log& log);

}  // namespace tenon
