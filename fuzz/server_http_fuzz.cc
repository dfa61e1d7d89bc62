// Feeds what clients send over a connection of HTTP, in two parts, to a session and the routes of
// REST behind it, with made-up models. Each request is answered, and the session ends with its
// client.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <cstdlib>
#include <set>

#include "http/http_session.h"
#include "http/rest_routes.h"
#include "model/fake_models.h"

namespace {

using namespace tenon::server;
namespace asio = boost::asio;

// The server around a session: its thread is this one.
class Host final : public HttpHost {
 public:
  explicit Host(RestRoutes& routes) : routes_(routes) {}
  ~Host() override {
    if (requests != 0 || bytes != 0 || !connections.empty()) std::abort();
  }

  const HttpOptions& options() const override { return options_; }
  bool is_stopping() const override { return false; }
  bool add(HttpConnection& connection) override { return connections.insert(&connection).second; }
  void remove(HttpConnection& connection) override { connections.erase(&connection); }
  bool reserve(size_t more) override {
    if (bytes + more > size_t{1} << 22) return false;
    bytes += more;
    return true;
  }
  void release(size_t less) override { bytes -= less; }
  void handle(RestRequest request, Respond respond) override {
    routes_.handle(std::move(request), std::move(respond));
  }
  void begin_request() override { ++requests; }
  void end_request() override { --requests; }
  bool post(asio::any_io_executor executor, std::function<void()> call) override {
    asio::post(executor, std::move(call));
    return true;
  }

  std::set<HttpConnection*> connections;
  size_t requests = 0, bytes = 0;

 private:
  static HttpOptions limits() {
    HttpOptions options;
    options.max_body = size_t{1} << 20;
    return options;
  }
  const HttpOptions options_ = limits();
  RestRoutes& routes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FakeModels models;
  static RestRoutes routes(models, {});
  if (size < 2) return 0;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
  asio::io_context io;
  asio::local::stream_protocol::socket socket(io, asio::local::stream_protocol(), ends[0]);
  auto host = std::make_shared<Host>(routes);
  start_session(make_byte_stream(Socket(std::move(socket)), nullptr), "", host);
  const size_t first = (data[0] | static_cast<size_t>(data[1]) << 8) % (size - 1);
  // A socket takes this much without a reader.
  (void)!::send(ends[1], data + 2, std::min(first, size - 2), MSG_NOSIGNAL);
  io.poll();
  if (first < size - 2) (void)!::send(ends[1], data + 2 + first, size - 2 - first, MSG_NOSIGNAL);
  io.restart();
  io.poll();
  ::shutdown(ends[1], SHUT_WR);
  char received[65536];
  while (true) {
    io.restart();
    if (io.poll() == 0 && ::recv(ends[1], received, sizeof received, MSG_DONTWAIT) <= 0) break;
  }
  ::close(ends[1]);
  io.restart();
  io.run();
  return 0;
}
