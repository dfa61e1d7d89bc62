// Calls of inference: one request, and a stream of them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>

#include "model/models.h"
#include "model/request_records.h"
#include "model/shared_memory.h"
#include "unary_call.h"

namespace tenon::server {

struct InferLimits {
  size_t max_tensors = 0;          ///< of inputs of a request, and of its outputs
  size_t max_stream_requests = 0;  ///< of a stream, that are not answered yet
  const SharedMemory* memory = nullptr;
  RequestRecords* records = nullptr;  ///< null for none
};

grpc::Status status_of(const RequestError& error);

using InferCall = UnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>;
/// The request's bytes are taken. A status that is not OK ends it at once.
void handle_infer_call(const Models& models, const InferLimits& limits, const grpc::Status& status,
                       InferCall& call);

/// What calls of a stream need; outlives them.
struct InferStreams {
  using Stream = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
  const Models& models;
  const InferLimits& limits;
  CallQueues& queues;
  std::function<void(grpc::ServerContext*, Stream*, CallQueues::Queue*, void* tag)> ask;
  /// That is not OK ends a stream at once.
  std::function<grpc::Status(const grpc::ServerContext&)> authorize;
};
/// Streams as often as clients begin one, of each queue. Requests are answered as they are done, in
/// any order; an error is a message of the stream, which goes on.
void serve_infer_streams(std::shared_ptr<const InferStreams> streams);

}  // namespace tenon::server
