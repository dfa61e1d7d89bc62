#include "byte_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ssl/stream.hpp>
#include <utility>

#include "tls_context.h"

namespace tenon::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

struct Plain {
  explicit Plain(Socket from) : socket(std::move(from)) {}
  Socket socket;
};

class PlainStream final : private Plain, public ByteStream {
 public:
  explicit PlainStream(Socket from) : Plain(std::move(from)), ByteStream(socket) {}

  bool is_tls() const override { return false; }
  void handshake(Done done) override { done({}, 0); }
  void read_some(asio::mutable_buffer to, Done done) override {
    wait_for(to.size());
    socket_.async_read_some(to, std::move(done));
  }
  void write_some(const Buffers& from, Done done) override {
    socket_.async_write_some(from, std::move(done));
  }
  void end_writing(Done done) override {
    error_code error;
    socket_.shutdown(asio::socket_base::shutdown_send, error);
    done(error, 0);
  }

  bool send(const Buffers& from, size_t& bytes) override {
    constexpr size_t kMost = 8;
    bytes = 0;
    if (from.size() > kMost) return false;
    iovec parts[kMost];
    for (size_t i = 0; i < from.size(); ++i)
      parts[i] = {const_cast<void*>(from[i].data()), from[i].size()};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = from.size();
    const std::lock_guard lock(mutex_);
    if (!socket_.is_open()) return false;
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    bytes = static_cast<size_t>(std::max<ssize_t>(sent, 0));
    return bytes == asio::buffer_size(from);
  }

 private:
  // Of a large part, each segment would wake up the thread.
  void wait_for(size_t bytes) {
    constexpr size_t kMin = size_t{64} << 10, kMax = size_t{512} << 10;
    const int wanted = bytes <= kMin ? 1 : static_cast<int>(std::min(bytes, kMax));
    if (std::exchange(low_watermark_, wanted) == wanted) return;
    error_code ignored;
    socket_.set_option(asio::socket_base::receive_low_watermark(wanted), ignored);
  }

  int low_watermark_ = 1;
};

struct Encrypted {
  Encrypted(Socket from, asio::ssl::context& tls) : stream(std::move(from), tls) {}
  asio::ssl::stream<Socket> stream;
};

class TlsStream final : private Encrypted, public ByteStream {
 public:
  TlsStream(Socket from, asio::ssl::context& tls)
      : Encrypted(std::move(from), tls), ByteStream(stream.next_layer()) {}

  bool is_tls() const override { return is_tls_; }
  void handshake(Done done) override {
    stream.async_handshake(asio::ssl::stream_base::server,
                           [this, done = std::move(done)](error_code error) {
                             if (is_plain_http(error)) {
                               is_tls_ = false;
                               error = asio::error::no_protocol_option;
                             }
                             done(error, 0);
                           });
  }
  void read_some(asio::mutable_buffer to, Done done) override {
    if (is_tls_)
      stream.async_read_some(to, std::move(done));
    else
      socket_.async_read_some(to, std::move(done));
  }
  void write_some(const Buffers& from, Done done) override {
    if (is_tls_)
      stream.async_write_some(from, std::move(done));
    else
      socket_.async_write_some(from, std::move(done));
  }
  void end_writing(Done done) override {
    const auto end = [this, done = std::move(done)](error_code) {
      error_code error;
      socket_.shutdown(asio::socket_base::shutdown_send, error);
      done(error, 0);
    };
    if (is_tls_)
      stream.async_shutdown(end);
    else
      end({});
  }
  bool send(const Buffers&, size_t& bytes) override {
    bytes = 0;
    return false;
  }

 private:
  bool is_tls_ = true;
};

}  // namespace

bool ByteStream::is_left() {
  constexpr short kGone = POLLRDHUP | POLLHUP | POLLERR;
  pollfd descriptor{socket_.native_handle(), POLLRDHUP, 0};
  return ::poll(&descriptor, 1, 0) == 1 && (descriptor.revents & kGone) != 0;
}

void ByteStream::close() {
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  const std::lock_guard lock(mutex_);
  socket_.close(ignored);
}

std::unique_ptr<ByteStream> make_byte_stream(Socket socket, asio::ssl::context* tls) {
  if (tls != nullptr) return std::make_unique<TlsStream>(std::move(socket), *tls);
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace tenon::server
