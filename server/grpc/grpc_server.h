// The Open Inference Protocol over gRPC.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "model/models.h"
#include "model/request_records.h"
#include "model/server_settings.h"
#include "model/shared_memory.h"
#include "tls_files.h"

namespace tenon::server {

struct GrpcOptions {
  /// HOST:PORT, where port 0 is any that is free, or unix:PATH.
  std::string address = "127.0.0.1:8001";
  std::string version;  ///< of the server, as its metadata say it
  /// That take requests and write answers; 1 to 256. With one, a request wakes up no other.
  int threads = 1;

  size_t max_message_bytes = size_t{256} << 20;  ///< of a request
  size_t max_tensors = 256;                      ///< inputs of a request, and outputs that it names
  size_t max_stream_requests = 32;  ///< of a stream, not answered yet; then it is not read further
  int max_connection_calls = 1024;  ///< at the same time

  bool allows_model_control = false;  ///< whether clients may load and unload models

  TlsFiles tls;
  SharedMemory* memory = nullptr;     ///< outlives the server; null for none
  RequestRecords* records = nullptr;  ///< the same; of inferences
  std::shared_ptr<ServerSettings> settings = std::make_shared<ServerSettings>();
  /// What clients must send as `authorization: Bearer TOKEN`, but to ask for health; empty for
  /// none. @pre printable ASCII without spaces.
  std::string token;
};

/// Serves until it is stopped. Health (`grpc.health.v1`) is SERVING so long as all models are
/// ready. Compressed requests are refused.
class GrpcServer {
 public:
  /// @param models outlive the server.
  static Result<std::unique_ptr<GrpcServer>> start(Models& models, const GrpcOptions& options);
  /// As stop(0).
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  /// Where it listens; 0 for a UNIX socket.
  int port() const;
  /// Refuses new calls, answers those that run, and cancels what is left at the end of `drain`.
  void stop(std::chrono::milliseconds drain);

 private:
  struct State;
  explicit GrpcServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tenon::server
