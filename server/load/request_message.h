// The bytes of a request, made once and sent again and again.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model_inputs.h"

namespace tenon::load {

/// How tensors are sent, or wanted.
enum class TensorFormat : uint8_t { kBinary, kJson };

struct MessageOptions {
  TensorFormat inputs = TensorFormat::kBinary, outputs = TensorFormat::kBinary;
  nlohmann::json parameters =
      nlohmann::json::object();  ///< of the request: booleans, integers, texts
  std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpMessage {
  std::string head, body;
};

/// "name:value:int", bool or string, as perf_analyzer's --request-parameter. Throws
/// session::Error.
std::pair<std::string, nlohmann::json> parse_parameter(const std::string& text);

/// @param host of the header Host.
HttpMessage http_message(const ModelDescription& model, const std::vector<NamedInput>& inputs,
                         const MessageOptions& options, const std::string& host);

/// A ModelInferRequest. Throws session::Error where it would be 2 GiB or larger.
std::string grpc_message(const ModelDescription& model, const std::vector<NamedInput>& inputs,
                         const MessageOptions& options);

}  // namespace tenon::load
