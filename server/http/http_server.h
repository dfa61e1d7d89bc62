// HTTP/1.1 for a handler.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "model/request_records.h"
#include "rest.h"
#include "tls_files.h"

namespace tenon::server {

struct HttpOptions {
  std::string address = "0.0.0.0";  ///< or "unix:PATH"
  uint16_t port = 0;                ///< 0 for any that is free
  int threads = 2;
  size_t max_connections = 4096;
  size_t max_body = size_t{64} << 20;
  size_t max_body_bytes = size_t{1} << 30;  ///< of all requests that are not responded to
  size_t max_header = size_t{16} << 10;
  std::chrono::seconds header_timeout{10}, idle_timeout{60};
  /// A body, or a response, has this time to go over, and a second more for each `min_rate` bytes
  /// that have.
  std::chrono::seconds body_timeout{60};
  size_t min_rate = size_t{64} << 10;
  TlsFiles tls;
  RequestRecords* records = nullptr;  ///< outlives the server; null for none
  std::string token;  ///< requests need `Authorization: Bearer TOKEN`; empty for none
  /// Whether the handler waits in its thread: such requests run one by one in a thread of their
  /// own. Empty: none does.
  std::function<bool(const RestRequest&)> is_slow;
};

/// Reads requests, calls the handler, and writes what it responds, each once.
class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options,
                                                   RestHandler handler) noexcept;
  /// Stops at once.
  ~HttpServer();

  uint16_t port() const;
  /// Takes no more connections and requests; returns when those that came are responded to, or
  /// after that time.
  void stop(std::chrono::milliseconds timeout) noexcept;

 private:
  class Inside;
  explicit HttpServer(std::shared_ptr<Inside> inside) : inside_(std::move(inside)) {}

  std::shared_ptr<Inside> inside_;
};

}  // namespace tenon::server
