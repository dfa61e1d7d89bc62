// The page that shows a server in a browser.
#pragma once

#include <optional>

#include "model/models.h"
#include "rest.h"

namespace tenon::server {

/// Of GET / the page, and of GET /metrics what it reads besides the protocol; nothing for other
/// requests. The page is one file that asks this server alone.
std::optional<RestResponse> status_page_response(const Models& models, const RestRequest& request);

}  // namespace tenon::server
