// What the server has done so far, for Prometheus.
#pragma once

#include "model/models.h"
#include "rest.h"

namespace tenon::server {

/// Of GET /metrics: tenon_* metrics of each model, and Triton's nv_inference_*, by model and
/// version.
RestResponse metrics_response(const Models& models, const RestRequest& request);

}  // namespace tenon::server
