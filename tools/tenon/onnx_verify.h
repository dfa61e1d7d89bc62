// Whether an edited model computes what it did: both run on the same inputs.
#pragma once

#include <string>
#include <vector>

#include "logger.h"
#include "npz.h"
#include "options.h"

namespace tenon::tool {

struct VerifyOptions {
  std::vector<std::string> shapes;  // of inputs, a set for each run; none: chosen by the model
  std::string inputs;               // an .npz file; "": noise
  double max_error = 1e-3;          // in parts of an output's range
};

/// Builds and runs both models, prints the largest difference, and throws Failure where it is more
/// than the options allow, or where the models have no output in common.
void verify_models(const std::string& before, const std::string& after,
                   const VerifyOptions& options, Logger& logger);

}  // namespace tenon::tool
