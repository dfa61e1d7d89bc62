#include "transport.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "grpc_transport.h"
#include "http_transport.h"

namespace tenon::load {
namespace {

// Takes connections, and never answers.
class SilentServer {
 public:
  SilentServer() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(socket_, 16), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    url_ = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  }
  ~SilentServer() { ::close(socket_); }
  const std::string& url() const { return url_; }

 private:
  const int socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  std::string url_;
};

// Requests may take a minute by themselves.
void expect_quick_end(std::unique_ptr<Transport> transport, const std::atomic<int>& received) {
  for (int i = 0; i < 10; ++i) transport->send(Clock::now());
  const auto begin = Clock::now();
  transport.reset();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(received, 0);
}

TEST(Transport, EndsWhatIsUnderWay) {
  const SilentServer server;
  std::atomic<int> received = 0;
  const Receive receive = [&](const Sent&) { ++received; };
  TransportOptions options;
  options.connections = options.threads = 2;
  expect_quick_end(
      make_http_transport(HttpAddress(server.url()),
                          {"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", ""}, options, receive),
      received);
  expect_quick_end(make_grpc_transport(server.url(), "", {}, options, receive), received);
}

}  // namespace
}  // namespace tenon::load
