#include "status_page.h"

#include "metrics.h"
#include "status_page_text.h"

namespace tenon::server {

std::optional<RestResponse> status_page_response(const Models& models, const RestRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  if (request.target == "/metrics") return metrics_response(models, request);
  if (request.target != "/") return std::nullopt;
  RestResponse response;
  response.content_type = "text/html; charset=utf-8";
  response.text = kStatusPage;
  return response;
}

}  // namespace tenon::server
