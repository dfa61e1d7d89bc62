// What a model has done so far, as Triton's statistics extension writes it.
#pragma once

#include <nlohmann/json.hpp>

#include "model/model.h"

namespace tenon::server {

/// An item of "model_stats". Times are in nanoseconds.
nlohmann::ordered_json statistics_json(const Model& model);

}  // namespace tenon::server
