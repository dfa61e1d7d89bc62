// What a model has done so far, as Triton's statistics extension writes it.
#pragma once

#include <string>

#include "model/model.h"

namespace tenon::server {

/// An item of "model_stats". Times are in nanoseconds.
std::string statistics_json(const Model& model);

}  // namespace tenon::server
