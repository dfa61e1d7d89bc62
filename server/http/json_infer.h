// Inference requests as the REST protocol writes them: JSON, and tensors in binary behind it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "json_response.h"
#include "model/requested_tensors.h"

namespace tenon::server {

/// Bounds of a request, beyond that of its bytes.
struct JsonLimits {
  size_t max_tensors = 256;
  size_t max_depth = 32;
};

struct JsonInferRequest {
  InferRequest request;
  OutputFormat format;
  RequestedTensors wanted;
};

/// Bytes of JSON by Inference-Header-Content-Length, if it is a number.
std::optional<size_t> json_length_of(const std::string& text) noexcept;

/// Tensors in binary stay in the body where their elements are aligned, and those in shared memory
/// are not read yet. An error names the input, what was expected and what was found.
/// @param json_length of the JSON in front of the tensors, as text; empty where all is JSON.
Result<JsonInferRequest> parse_infer_request(const std::shared_ptr<Body>& body,
                                             const std::string& json_length,
                                             const JsonLimits& limits = {}) noexcept;

/// Of the body of a request to load a model: {"parameters": {"config": TEXT}}, if it has it.
Result<std::optional<std::string>> parse_load_config(const Body& body) noexcept;
/// Whether the body of a request for unloading has {"parameters": {"unload_dependents": true}}.
bool unloads_members(const Body& body) noexcept;

}  // namespace tenon::server
