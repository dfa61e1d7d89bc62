#include "grpc_server.h"

#include <absl/synchronization/mutex.h>
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "guard.h"
#include "health_service.h"
#include "inference_service.h"

namespace tenon::server {
namespace {

std::shared_ptr<grpc::ServerCredentials> credentials_of(const TlsFiles& files) {
  const TlsTexts texts = read_tls_files(files);
  if (texts.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls(
      texts.authorities.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_key_cert_pairs.push_back({texts.key, texts.certificate});
  tls.pem_root_certs = texts.authorities;
  return grpc::SslServerCredentials(tls);
}

void check_options(const GrpcOptions& options) {
  constexpr size_t kMax = std::numeric_limits<int>::max();
  if (options.max_message_bytes < 1 || options.max_message_bytes > kMax) {
    throw Error{fmt::format("max_message_bytes: expected 1 to {}, found {}", kMax,
                            options.max_message_bytes)};
  }
  if (options.threads < 1 || options.threads > 256) {
    throw Error{fmt::format("threads: expected 1 to 256, found {}", options.threads)};
  }
  if (options.max_tensors < 1 || options.max_stream_requests < 1
      || options.max_connection_calls < 1) {
    throw Error{"max_tensors, max_stream_requests and max_connection_calls: expected 1 or more"};
  }
  const auto is_bad = [](char c) { return c <= ' ' || c > '~'; };
  if (std::ranges::any_of(options.token, is_bad)) {
    throw Error{"the token: expected printable ASCII characters without spaces"};
  }
}

// A client that sends no message, or comes without a certificate, is told so; a line for each would
// let clients fill the log.
void silence_logs() {
  google::protobuf::SetLogHandler(nullptr);
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace

struct GrpcServer::State {
  State(Models& models, const GrpcOptions& options) {
    check_options(options);
    // Debian's Abseil looks for deadlocks at each lock, which takes a twentieth of the server's
    // time.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    services.push_back(make_inference_service(models, options));
    services.push_back(make_health_service(models, is_stopping));
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options.address, credentials_of(options.tls), &port);
    for (const auto& service : services) builder.RegisterService(&service->service());
    queues = std::make_unique<CallQueues>(builder, options.threads);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_connection_calls);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    // By default 16 KiB, of which a large tensor has thousands.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20);
    // Clients that are gone without a word are noticed.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
    for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
      builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
    }
    server = builder.BuildAndStart();
    if (server == nullptr) {
      throw Error{
          fmt::format("cannot listen on {}; expected HOST:PORT or unix:PATH that nobody "
                      "listens on, and matching files of TLS",
                      options.address)};
    }
    if (options.address.starts_with("unix:")) port = 0;
    silence_logs();
    queues->start();
    for (const auto& service : services) service->serve(*queues);
  }

  std::atomic<bool> is_stopping = false;
  std::vector<std::unique_ptr<CallService>> services;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<CallQueues> queues;  // last: their events use what is above
};

GrpcServer::GrpcServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

GrpcServer::~GrpcServer() {
  stop(std::chrono::milliseconds(0));
}

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(Models& models, const GrpcOptions& options) {
  return session::guard([&] {
    return std::unique_ptr<GrpcServer>(new GrpcServer(std::make_unique<State>(models, options)));
  });
}

int GrpcServer::port() const {
  return state_->port;
}

void GrpcServer::stop(std::chrono::milliseconds drain) {
  if (state_->is_stopping.exchange(true)) return;
  state_->queues->close();
  state_->server->Shutdown(std::chrono::system_clock::now() + drain);
  state_->queues->wait_for_calls();
}

}  // namespace tenon::server

#if defined(__SANITIZE_ADDRESS__)
// c-ares, by which gRPC looks up names, keeps a little of what it allocates.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libcares";
}
#endif
