// Triton's extensions of log and trace settings over REST.
#pragma once

#include "rest.h"

namespace tenon::server {

/// /v2/logging
RestResponse log_settings_response(const RestRequest& request);
/// /v2/trace/setting, and that of a model, which has the same settings.
RestResponse trace_settings_response(const RestRequest& request);

}  // namespace tenon::server
