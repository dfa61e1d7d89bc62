#include "http_url.h"

#include <tenon/printable.h>
#include <tenon/session/result.h>

#include <boost/asio.hpp>
#include <cctype>
#include <string_view>

namespace tenon::load {
namespace {

namespace asio = boost::asio;
using session::Error;

std::string path_segment(const std::string& name) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) != std::string_view::npos)
      escaped += c;
    else
      ((escaped += '%') += kDigits[byte >> 4]) += kDigits[byte & 15];
  }
  return escaped;
}

}  // namespace

HttpAddress::HttpAddress(const std::string& url) {
  if (url.starts_with("unix:")) {
    path = url.substr(5);
    return;
  }
  std::string rest = url.starts_with("http://") ? url.substr(7) : url;
  if (rest.ends_with('/')) rest.pop_back();
  const size_t colon = rest.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == rest.size()
      || rest.find_first_of("/ \r\n") != std::string::npos)
    throw Error{"--url: expected HOST:PORT or unix:PATH, found '" + printable(url) + "'"};
  host = rest.substr(0, colon);
  port = rest.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
}

asio::generic::stream_protocol::endpoint resolve(const HttpAddress& address) {
  if (!address.path.empty()) {
    try {
      return asio::local::stream_protocol::endpoint(address.path);
    } catch (const boost::system::system_error& cause) {
      throw Error{"unix:" + printable(address.path) + ": " + cause.code().message()};
    }
  }
  asio::io_context io;
  asio::ip::tcp::resolver resolver(io);
  boost::system::error_code error;
  const auto found = resolver.resolve(address.host, address.port, error);
  if (error) throw Error{"cannot find " + printable(address.text()) + ": " + error.message()};
  // "localhost" is both, and more servers listen on addresses of version 4.
  for (const auto& entry : found)
    if (entry.endpoint().address().is_v4()) return entry.endpoint();
  return found.begin()->endpoint();
}

std::string model_path(const std::string& model, const std::string& version) {
  return "/v2/models/" + path_segment(model)
         + (version.empty() ? "" : "/versions/" + path_segment(version));
}

}  // namespace tenon::load
