// Inference requests and responses as the REST protocol writes them: JSON, and tensors in binary
// behind it.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "model/model.h"
#include "rest.h"

namespace tenon::server {

/// Bounds of a request, beyond that of its bytes.
struct JsonLimits {
  size_t max_tensors = 256;
  size_t max_depth = 32;
};

/// Which outputs the response has in binary.
struct OutputFormat {
  bool is_binary = false;        ///< those that the request does not name
  std::set<std::string> named;   ///< by the request
  std::set<std::string> binary;  ///< of these

  bool wants_binary(const std::string& output) const {
    return named.contains(output) ? binary.contains(output) : is_binary;
  }
};

struct JsonInferRequest {
  InferRequest request;
  OutputFormat format;
};

/// Tensors in binary stay in the body where their elements are aligned. An error names the input,
/// what was expected and what was found.
/// @param json_length of the JSON in front of the tensors, as text; empty where all is JSON.
Result<JsonInferRequest> parse_infer_request(const std::shared_ptr<Body>& body,
                                             const std::string& json_length,
                                             const JsonLimits& limits = {}) noexcept;

/// An error for numbers that JSON does not have, NaN and infinities, and for datatypes that only
/// are binary.
Result<RestResponse> infer_response(InferResponse response, const OutputFormat& format) noexcept;

/// Whether the body of a request to load a model has "parameters", such as another configuration.
bool has_load_parameters(const Body& body) noexcept;
/// Whether the body of a request for unloading has {"parameters": {"unload_dependents": true}}.
bool unloads_members(const Body& body) noexcept;

/// The text as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace tenon::server
