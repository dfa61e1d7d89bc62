// One connection: requests in, responses out, one after the other.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "byte_stream.h"
#include "http_server.h"

namespace tenon::server {

class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  /// Ends it, from any thread.
  virtual void close() = 0;
  /// Called again and again, from any thread: it ends what takes too long, and cancels requests
  /// whose client is gone.
  virtual void tick(std::chrono::steady_clock::time_point now) = 0;
};

/// What sessions need of the server. All members may be called from any thread.
class HttpHost {
 public:
  virtual ~HttpHost() = default;
  virtual const HttpOptions& options() const = 0;
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

/// @param remote who is at the other end, for the access log.
void start_session(std::unique_ptr<ByteStream> stream, std::string remote,
                   std::shared_ptr<HttpHost> host);

}  // namespace tenon::server
