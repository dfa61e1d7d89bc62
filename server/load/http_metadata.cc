#include <sys/socket.h>
#include <sys/time.h>
#include <tenon/printable.h>
#include <tenon/session/result.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <utility>

#include "http_transport.h"
#include "http_url.h"

namespace tenon::load {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using nlohmann::json;
using session::Error;
using Response = http::response<http::string_body>;

// Waits no longer than that for each read and write.
void set_timeout(int socket, std::chrono::milliseconds timeout) {
  const timeval limit{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO})
    ::setsockopt(socket, SOL_SOCKET, which, &limit, sizeof limit);
}

Response get(const HttpAddress& address, const std::string& target, const MessageOptions& options,
             std::chrono::milliseconds timeout) {
  asio::io_context io;
  asio::generic::stream_protocol::socket socket(io);
  const auto endpoint = resolve(address);
  socket.open(endpoint.protocol());
  set_timeout(socket.native_handle(), timeout);
  socket.connect(endpoint);
  http::request<http::empty_body> request(http::verb::get, target, 11);
  request.set(http::field::host, address.text());
  for (const auto& [name, value] : options.headers) request.set(name, value);
  http::write(socket, request);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  http::read(socket, buffer, parser);
  return parser.release();
}

ModelDescription description_of(const json& metadata) {
  ModelDescription model;
  model.name = metadata.at("name");
  for (const json& input : metadata.at("inputs"))
    model.inputs.push_back({input.at("name"), input.at("datatype"), input.at("shape")});
  return model;
}

}  // namespace

ModelDescription describe_over_http(const HttpAddress& address, const std::string& model,
                                    const std::string& version, const MessageOptions& options,
                                    std::chrono::milliseconds timeout) {
  const std::string target = model_path(model, version);
  try {
    const Response response = get(address, target, options, timeout);
    if (response.result_int() != 200)
      throw Error{printable(address.text()) + target + ": " + std::to_string(response.result_int())
                  + ": " + printable(response.body())};
    ModelDescription description = description_of(json::parse(response.body()));
    description.version = version;
    return description;
  } catch (const json::exception& cause) {
    throw Error{printable(address.text()) + target
                + " is no metadata of a model: " + printable(cause.what())};
  } catch (const boost::system::system_error& cause) {
    throw Error{"no answer from " + printable(address.text()) + ": " + cause.code().message()};
  }
}

}  // namespace tenon::load
