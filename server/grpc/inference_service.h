// The calls of the Open Inference Protocol.
#pragma once

#include <memory>

#include "call_queues.h"
#include "grpc_server.h"

namespace tenon::server {

/// @param models outlive the service.
std::unique_ptr<CallService> make_inference_service(Models& models, const GrpcOptions& options);

}  // namespace tenon::server
