// Responses of inference, as bytes of messages of gRPC.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <variant>
#include <vector>

#include "model/requested_tensors.h"

namespace tenon::server {

/// A ModelInferResponse.
struct EncodedResponse {
  std::vector<grpc::Slice> slices;
  size_t bytes = 0;

  grpc::ByteBuffer message() const { return {slices.data(), slices.size()}; }
  /// In a ModelStreamInferResponse.
  grpc::ByteBuffer stream_message() const;
};

/// Raw outputs are not copied: the slices own the response's tensors. Those in shared memory are
/// only named. An error for typed outputs of
/// types that have no field, and for more bytes than a message holds.
std::variant<EncodedResponse, RequestError> encode_response(OutputResponse response,
                                                            bool typed_outputs);

/// A ModelStreamInferResponse.
grpc::ByteBuffer stream_error(const std::string& text, const std::string& id);

}  // namespace tenon::server
