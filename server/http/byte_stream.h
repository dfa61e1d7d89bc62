// The bytes of a connection, in TLS or not.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace tenon::server {

using Socket = boost::asio::generic::stream_protocol::socket;
using Buffers = std::vector<boost::asio::const_buffer>;

/// One operation at a time. All but send() is called in the socket's executor, as is what is called
/// when an operation ends.
class ByteStream {
 public:
  using Done = std::function<void(boost::system::error_code, size_t)>;

  explicit ByteStream(Socket& socket) : socket_(socket) {}
  virtual ~ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  boost::asio::any_io_executor executor() { return socket_.get_executor(); }
  virtual bool is_tls() const = 0;
  /// Before all others. A client that spoke HTTP without TLS to one with TLS ends it with
  /// asio::error::no_protocol_option, and is spoken to without TLS from then on.
  virtual void handshake(Done done) = 0;
  virtual void read_some(boost::asio::mutable_buffer to, Done done) = 0;
  virtual void write_some(const Buffers& from, Done done) = 0;
  /// Says that nothing more is written.
  virtual void end_writing(Done done) = 0;

  /// Writes all of it without waiting, from any thread, while no operation is under way; false,
  /// and how much went, where it cannot.
  virtual bool send(const Buffers& from, size_t& bytes) = 0;
  /// Whether the other end has closed its side, or is gone.
  bool is_left();
  /// Operations under way end with an error.
  void close();

 protected:
  Socket& socket_;
  std::mutex mutex_;  // of the descriptor: sending, and closing
};

/// @param tls null for none.
std::unique_ptr<ByteStream> make_byte_stream(Socket socket, boost::asio::ssl::context* tls);

}  // namespace tenon::server
