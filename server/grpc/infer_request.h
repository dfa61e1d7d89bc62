// Requests of inference, from messages of gRPC.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "infer_message.h"
#include "model/requested_tensors.h"

namespace tenon::server {

struct DecodedRequest {
  std::string model, version;
  InferRequest request;  ///< without what the call says besides its message: trace and stop
  /// Whether outputs are wanted in the fields of their types, in the place of raw bytes.
  bool typed_outputs = false;
  RequestedTensors wanted = {};
};

/// Inputs refer to the message or its raw contents, which live as long as they do; only 8-bit
/// integers in fields of 32 bits are copied, and what is in shared memory is not read yet.
/// Parameters: `timeout` in microseconds, from now, `priority`, of which lower numbers go first,
/// and `binary_data_output`.
/// @param max_tensors as of read_infer_message().
std::variant<DecodedRequest, RequestError> decode_request(InferMessage message, size_t max_tensors);

}  // namespace tenon::server
