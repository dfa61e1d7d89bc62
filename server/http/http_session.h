// One connection: requests in, responses out, one after the other.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>

#include "http_server.h"

namespace tenon::server {

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  /// Ends it, from any thread.
  virtual void close() = 0;
};

/// What sessions need of the server. All members may be called from any thread.
class HttpHost {
 public:
  virtual ~HttpHost() = default;
  virtual const HttpOptions& options() const = 0;
  /// Null where connections are not encrypted.
  virtual boost::asio::ssl::context* tls() = 0;
  virtual bool is_stopping() const = 0;
  /// False where there are too many.
  virtual bool add(HttpConnection& connection) = 0;
  virtual void remove(HttpConnection& connection) = 0;
  /// Room for a body; false where all bodies together take too much.
  virtual bool reserve(size_t bytes) = 0;
  virtual void release(size_t bytes) = 0;
  virtual void handle(RestRequest request, Respond respond) = 0;
  /// Between these a request counts as one that came, which a stop waits for.
  virtual void begin_request() = 0;
  virtual void end_request() = 0;
  /// Calls later, in the executor's order; false, and never, when the server is over.
  virtual bool post(boost::asio::any_io_executor executor, std::function<void()> call) = 0;
};

void start_session(boost::asio::ip::tcp::socket socket, std::shared_ptr<HttpHost> host);
void start_session(boost::asio::local::stream_protocol::socket socket,
                   std::shared_ptr<HttpHost> host);

}  // namespace tenon::server
