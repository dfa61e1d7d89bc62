#include "http_message.h"

#include <tenon/printable.h>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>

#include "rest_routes.h"
#include "token.h"

namespace tenon::server {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

std::string head_of(const RestResponse& response, size_t bytes, bool keeps) {
  const auto status = static_cast<unsigned>(response.status);
  std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
  head += std::string(http::obsolete_reason(static_cast<http::status>(status)));
  head += "\r\nServer: tenon\r\nContent-Type: " + response.content_type;
  if (response.has_tensors)
    head += "\r\nInference-Header-Content-Length: " + std::to_string(response.text.size());
  if (response.status == 401) head += "\r\nWWW-Authenticate: Bearer";
  if (response.may_retry) head += "\r\nRetry-After: 1";
  if (!keeps) head += "\r\nConnection: close";
  return head + "\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
}

size_t bytes_of(const RestResponse& response) {
  size_t bytes = response.text.size();
  for (const serve::Tensor& tensor : response.tensors) bytes += tensor.bytes();
  return bytes;
}

Buffers body_of(RestResponse& response) {
  Buffers buffers = {asio::buffer(response.text)};
  for (serve::Tensor& tensor : response.tensors)
    if (const auto data = tensor.cpu()) buffers.emplace_back(*data, tensor.bytes());
  return buffers;
}

void drop(Buffers& buffers, size_t bytes) {
  auto at = buffers.begin();
  for (; at != buffers.end() && at->size() <= bytes; ++at) bytes -= at->size();
  buffers.erase(buffers.begin(), at);
  if (!buffers.empty()) buffers[0] += bytes;
}

std::optional<RestResponse> refusal_of(const http::request_header<>& request,
                                       const HttpOptions& options) {
  const auto authorization = request[http::field::authorization];
  if (!options.token.empty()
      && !is_bearer({authorization.data(), authorization.size()}, options.token))
    return error_response(401, "expected Authorization: Bearer with the server's token");
  // Of another one nobody knows where the body ends, and the next request begins.
  const auto coding = request.find(http::field::transfer_encoding);
  if (coding != request.end() && !beast::iequals(coding->value(), "chunked"))
    return error_response(501, "Transfer-Encoding: expected chunked, found '"
                                   + printable(std::string(coding->value())) + "'");
  return std::nullopt;
}

RestResponse refusal_of(boost::system::error_code error, const HttpOptions& options) {
  if (error == http::error::body_limit)
    return error_response(413,
                          "the body is larger than " + std::to_string(options.max_body) + " bytes");
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return error_response(
        431, "the header is larger than " + std::to_string(options.max_header) + " bytes");
  if (error == boost::system::errc::not_enough_memory) return error_response(503, "out of memory");
  return error_response(400, "no HTTP request: " + error.message());
}

}  // namespace tenon::server
