// Who is at the other end of a connection, for the access log.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <string>

namespace tenon::server {

/// "127.0.0.1:5000" or "[::1]:5000"; empty for one that is gone.
inline std::string remote_text(const boost::asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return {};
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":"
         + std::to_string(endpoint.port());
}
inline std::string remote_text(const boost::asio::local::stream_protocol::socket&) {
  return "unix:";
}

}  // namespace tenon::server
