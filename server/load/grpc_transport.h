// Requests over gRPC.
#pragma once

#include "model_inputs.h"
#include "request_message.h"
#include "transport.h"

namespace tenon::load {

/// What the server at `url`, HOST:PORT or unix:PATH, says of a model. Waits; throws
/// session::Error.
ModelDescription describe_over_grpc(const std::string& url, const std::string& model,
                                    const std::string& version, const MessageOptions& options,
                                    std::chrono::milliseconds timeout);

/// Calls of ModelInfer over so many connections, in turn; a connection has any number of them at a
/// time.
/// @param message a ModelInferRequest.
std::unique_ptr<Transport> make_grpc_transport(const std::string& url, const std::string& message,
                                               const MessageOptions& options,
                                               const TransportOptions& of_transport,
                                               Receive receive);

}  // namespace tenon::load
