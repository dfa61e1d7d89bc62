// How a model is configured, as clients are answered.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model.h"

namespace tenon::server {

/// What the model's configuration file says, and where it is silent what was found of the model:
/// its inputs and outputs, without the axis of the batch where requests are put together. Triton's
/// message ModelConfig, serialized.
std::string config_message(const ModelMetadata& metadata);
/// The same as JSON, in which numbers are numbers.
nlohmann::ordered_json config_json(const ModelMetadata& metadata);

}  // namespace tenon::server
