// The calls of the Open Inference Protocol.
#pragma once

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "grpc_server.h"

namespace tenon::server {

/// @param models outlive the service.
std::unique_ptr<grpc::Service> make_inference_service(Models& models, const GrpcOptions& options);

}  // namespace tenon::server
