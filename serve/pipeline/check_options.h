// What options of a pipeline may be.
#pragma once

#include <cstddef>

#include "tenon/serve/pipeline_options.h"

namespace tenon::serve {

/// The options with their defaults filled in; throws the Error of one that is out of its range or
/// contradicts another.
/// @param instances how many the pipeline has.
PipelineOptions checked_options(PipelineOptions options, size_t instances);

}  // namespace tenon::serve
