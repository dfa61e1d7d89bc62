// HTTP requests and responses as what answers them sees them: without sockets.
#pragma once

#include <tenon/serve/tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "body.h"
#include "model/model.h"

namespace tenon::server {

struct RestRequest {
  std::string method;  ///< "GET"
  std::string target;  ///< path and query, as they came
  std::string trace;
  /// Of Inference-Header-Content-Length: the JSON in front of binary tensors; empty without.
  std::string json_length;
  std::shared_ptr<Body> body;  ///< whoever keeps it may point into it
  std::stop_token stop;        ///< used when the client is gone
};

/// What the access log says of the request that a response is to.
struct ServedRequest {
  std::string model, version, id;
  InferTimes times = {};
};

struct RestResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string text;                    ///< the body, or its JSON
  std::vector<serve::Tensor> tensors;  ///< whose bytes follow the text
  bool has_tensors = false;            ///< the length of the text is told
  bool may_retry = false;              ///< with Retry-After
  ServedRequest served;                ///< of an inference
};

/// Called once, in any thread.
using Respond = std::function<void(RestResponse)>;
using RestHandler = std::function<void(RestRequest, Respond)>;

}  // namespace tenon::server
