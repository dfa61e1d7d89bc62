// Triton's extensions of log and trace settings over REST.
#pragma once

#include "model/server_settings.h"
#include "rest.h"

namespace tenon::server {

/// /v2/logging
RestResponse log_settings_response(ServerLog& log, const RestRequest& request);
/// /v2/trace/setting, and that of a model.
/// @param model empty for all.
RestResponse trace_settings_response(RequestTraces& traces, const std::string& model,
                                     const RestRequest& request);

}  // namespace tenon::server
