// Requests over HTTP/1.1.
#pragma once

#include "model_inputs.h"
#include "request_message.h"
#include "transport.h"

namespace tenon::load {

/// "localhost:8000", "http://localhost:8000" or "unix:PATH". Throws session::Error for others.
struct HttpAddress {
  explicit HttpAddress(const std::string& url);

  std::string path;        ///< of a UNIX socket; empty for TCP
  std::string host, port;  ///< of TCP
  std::string text() const { return path.empty() ? host + ":" + port : "localhost"; }
};

/// What the server says of a model. Waits; throws session::Error.
ModelDescription describe_over_http(const HttpAddress& address, const std::string& model,
                                    const std::string& version, const MessageOptions& options,
                                    std::chrono::milliseconds timeout);

/// Connections are opened when they are needed, and used again. Throws session::Error for names
/// that are not found.
std::unique_ptr<Transport> make_http_transport(const HttpAddress& address, HttpMessage message,
                                               const TransportOptions& options, Receive receive);

}  // namespace tenon::load
