// Calls of inference: one request, and a stream of them.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_callback.h>

#include "model/access_log.h"
#include "model/models.h"
#include "model/shared_memory.h"

namespace tenon::server {

struct InferLimits {
  size_t max_tensors = 0;          ///< of inputs of a request, and of its outputs
  size_t max_stream_requests = 0;  ///< of a stream, that are not answered yet
  const SharedMemory* memory = nullptr;
  AccessLog* access_log = nullptr;
};

grpc::Status status_of(const RequestError& error);

/// gRPC owns it. The request's bytes are taken. A status that is not OK ends it at once.
grpc::ServerUnaryReactor* start_infer_call(const Models& models, const InferLimits& limits,
                                           const grpc::CallbackServerContext& context,
                                           const grpc::Status& status, grpc::ByteBuffer request,
                                           grpc::ByteBuffer* response);

using InferStream = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
/// gRPC owns it. Requests are answered as they are done, in any order; an error is a message of the
/// stream, which goes on. A status that is not OK ends it at once.
InferStream* start_infer_stream(const Models& models, const InferLimits& limits,
                                const grpc::CallbackServerContext& context,
                                const grpc::Status& status);

}  // namespace tenon::server
