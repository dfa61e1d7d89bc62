// Runs a network over batches, and keeps how large its tensors are.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include "calibration/range_histogram.h"
#include "plan/compile.h"

namespace tenon {

/// Writes where the elements of the next batch lie, on the target's device, for each input in the
/// order of Network::inputs(); false when there is none. They stay there until the next call.
using NextBatch = std::function<bool(std::span<void*> addresses)>;

struct CalibrationOptions {
  /// The inputs' shapes are its optimum; nothing where all extents are constant.
  std::optional<ProfileRequest> profile;
  /// Also observe tensors that only an activation reads, which is usually part of the layer before.
  bool observe_all = false;
  BuildProgress* progress = nullptr;  // told of each batch; null: nobody is
  Log log;
};

/// What was seen of each tensor, by name.
using Observations = std::map<std::string, RangeHistogram>;

/// Runs the network in float32, its layers as they are, over all batches, and observes the inputs
/// and layers' results of float32. The memory that this takes does not depend on the number of
/// batches. Throws Error when there is none, when an input's address is null or out of the target's
/// reach, when a tensor holds NaN or infinity, naming it and the batch, and when the progress is
/// cancelled.
Observations observe(const Network& network, const Target& target, const NextBatch& next_batch,
                     const CalibrationOptions& options);

}  // namespace tenon
