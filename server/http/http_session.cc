#include "http_session.h"

#include <sys/socket.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <stop_token>
#include <utility>

#include "guard.h"
#include "inflate.h"
#include "rest_routes.h"
#include "token.h"

namespace tenon::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

// The text of a response, and the bytes of tensors behind it, which are not copied.
struct ResponseBody {
  struct value_type {
    RestResponse response;
    std::vector<asio::const_buffer> buffers;
  };
  static uint64_t size(const value_type& body) { return asio::buffer_size(body.buffers); }

  class writer {
   public:
    using const_buffers_type = std::vector<asio::const_buffer>;
    template <bool is_request, class Fields>
    writer(const http::header<is_request, Fields>&, const value_type& body) : body_(body) {}
    void init(error_code& error) { error = {}; }
    boost::optional<std::pair<const_buffers_type, bool>> get(error_code& error) {
      error = {};
      return {{body_.buffers, false}};
    }

   private:
    const value_type& body_;
  };
};

template <class Protocol>
class HttpSession final : public HttpConnection,
                          public std::enable_shared_from_this<HttpSession<Protocol>> {
 public:
  HttpSession(typename Protocol::socket socket, std::shared_ptr<HttpHost> host)
      : host_(std::move(host)), stream_(std::move(socket)) {}
  ~HttpSession() override {
    host_->remove(*this);
    end_request();
    host_->release(reserved_);
  }

  void start() {
    if (host_->add(*this)) read_header();
  }

  void close() override {
    // The server is over: what is pending ends with an error.
    auto self = this->weak_from_this();
    asio::post(stream_.get_executor(), [self] {
      if (const auto session = self.lock()) session->shut();
    });
  }

 private:
  using Request = http::request<http::vector_body<unsigned char>>;

  // A member as what is called when an operation ends, for which the session lives.
  template <class Member> auto then(Member member) {
    return [self = this->shared_from_this(), member](error_code error, auto...) {
      ((*self).*member)(error);
    };
  }

  void shut() {
    error_code ignored;
    stop_.request_stop();
    stream_.socket().shutdown(asio::socket_base::shutdown_both, ignored);
    stream_.socket().close(ignored);
  }

  void read_header() {
    const HttpOptions& options = host_->options();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(options.max_header));
    parser_->body_limit(options.max_body);
    stop_ = std::stop_source();
    stream_.expires_after(buffer_.size() > 0 ? options.header_timeout : options.idle_timeout);
    http::async_read_header(stream_, buffer_, *parser_, then(&HttpSession::on_header));
  }

  void on_header(error_code error) {
    if (error) return fail(error);
    host_->begin_request();
    is_counted_ = true;
    const Request& request = parser_->get();
    const HttpOptions& options = host_->options();
    if (host_->is_stopping()) return end_with(error_response(503, "the server is being stopped"));
    if (!options.token.empty()
        && !is_same_secret("Bearer " + options.token,
                           std::string(request[http::field::authorization])))
      return end_with(
          error_response(401, "expected Authorization: Bearer with the server's token"));
    const auto length = parser_->content_length();
    if (length && *length > options.max_body) return fail(http::error::body_limit);
    // One that comes in chunks tells its length at its end.
    const size_t bytes = length ? *length : parser_->chunked() ? options.max_body : 0;
    if (!host_->reserve(bytes)) return end_with(too_many_bytes());
    reserved_ = bytes;
    const auto reserved =
        session::guard([&] { parser_->get().body().reserve((length ? *length : 0) + kPadding); });
    if (!reserved) return end_with(error_response(503, reserved.error()));
    if (beast::iequals(request[http::field::expect], "100-continue")) {
      auto answer = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
      http::async_write(stream_, *answer,
                        [self = this->shared_from_this(), answer](error_code failed, size_t) {
                          if (failed) return;
                          self->read_body();
                        });
      return;
    }
    read_body();
  }

  void read_body() {
    stream_.expires_after(host_->options().body_timeout);
    http::async_read(stream_, buffer_, *parser_, then(&HttpSession::on_request));
  }

  void on_request(error_code error) {
    if (error) return fail(error);
    stream_.expires_never();
    Request message = parser_->release();
    is_head_ = message.method() == http::verb::head;
    keeps_ = message.keep_alive() && !host_->is_stopping();
    RestRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    request.trace = std::string(message["traceparent"]);
    request.json_length = std::string(message["Inference-Header-Content-Length"]);
    request.stop = stop_.get_token();
    auto body =
        inflate(std::move(message.body()), std::string(message[http::field::content_encoding]),
                host_->options().max_body);
    if (!body) return write(error_response(400, body.error()));
    const size_t more = body->size() > reserved_ ? body->size() - reserved_ : 0;
    if (!host_->reserve(more)) return write(too_many_bytes());
    reserved_ += more;
    auto shared = session::guard([&] { return std::make_shared<Body>(*std::move(body)); });
    if (!shared) return write(error_response(503, shared.error()));
    request.body = *std::move(shared);
    watch();
    host_->handle(std::move(request), [self = this->shared_from_this()](RestResponse response) {
      auto kept = std::make_shared<RestResponse>(std::move(response));
      self->host_->post(self->stream_.get_executor(),
                        [self, kept] { self->write(std::move(*kept)); });
    });
  }

  // A client that goes away before it is answered cancels its request.
  void watch() {
    is_answering_ = false;
    stream_.socket().async_wait(asio::socket_base::wait_read, [self = this->shared_from_this()](
                                                                  error_code error) {
      if (error || self->is_answering_) return;
      char byte = 0;
      if (::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        self->stop_.request_stop();
    });
  }

  static RestResponse too_many_bytes() {
    return error_response(429, "requests and responses take too much memory: try again");
  }

  // A client that does not read what it asked for holds its response, which counts until then.
  bool reserve(const RestResponse& response) {
    size_t bytes = response.text.size();
    for (const serve::Tensor& tensor : response.tensors) bytes += tensor.bytes();
    if (!host_->reserve(bytes)) return false;
    reserved_ += bytes;
    return true;
  }

  void write(RestResponse response) {
    if (!reserve(response)) response = too_many_bytes();
    is_answering_ = true;
    error_code ignored;
    stream_.socket().cancel(ignored);
    message_.emplace();
    http::response<ResponseBody>& message = *message_;
    message.version(11);
    message.result(static_cast<unsigned>(response.status));
    message.set(http::field::server, "tenon");
    message.set(http::field::content_type, response.content_type);
    if (response.has_tensors)
      message.set("Inference-Header-Content-Length", std::to_string(response.text.size()));
    if (response.may_retry) message.set(http::field::retry_after, "1");
    message.keep_alive(keeps_);
    auto& body = message.body();
    body.response = std::move(response);
    body.buffers.emplace_back(asio::buffer(body.response.text));
    for (serve::Tensor& tensor : body.response.tensors) {
      const auto data = tensor.cpu();
      if (data) body.buffers.emplace_back(*data, tensor.bytes());
    }
    message.content_length(ResponseBody::size(body));
    if (is_head_) body.buffers.clear();
    stream_.expires_after(host_->options().body_timeout);
    http::async_write(stream_, message, then(&HttpSession::on_written));
  }

  void on_written(error_code error) {
    message_.reset();
    host_->release(std::exchange(reserved_, 0));
    end_request();
    if (error) return shut();
    if (keeps_) return read_header();
    error_code ignored;
    stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
  }

  void end_request() {
    if (std::exchange(is_counted_, false)) host_->end_request();
  }

  // A last response to a request whose rest is not read.
  void end_with(RestResponse response) {
    keeps_ = false;
    is_head_ = false;
    write(std::move(response));
  }

  void fail(error_code error) {
    const HttpOptions& options = host_->options();
    if (error == http::error::body_limit)
      return end_with(error_response(
          413, "the body is larger than " + std::to_string(options.max_body) + " bytes"));
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return end_with(error_response(
          431, "the header is larger than " + std::to_string(options.max_header) + " bytes"));
    const bool is_bad_request =
        error.category() == http::make_error_code(http::error::bad_method).category()
        && error != http::error::end_of_stream && error != http::error::partial_message;
    if (is_bad_request) return end_with(error_response(400, "no HTTP request: " + error.message()));
    shut();
  }

  std::shared_ptr<HttpHost> host_;
  beast::basic_stream<Protocol> stream_;
  // Lines of chunks and trailers have no other bound.
  beast::flat_buffer buffer_{host_->options().max_header + (size_t{64} << 10)};
  std::optional<http::request_parser<http::vector_body<unsigned char>>> parser_;
  std::optional<http::response<ResponseBody>> message_;
  std::stop_source stop_;
  size_t reserved_ = 0;
  bool keeps_ = false, is_head_ = false, is_answering_ = false, is_counted_ = false;
};

template <class Protocol>
void start(typename Protocol::socket socket, std::shared_ptr<HttpHost> host) {
  const auto session = std::make_shared<HttpSession<Protocol>>(std::move(socket), std::move(host));
  session->start();
}

}  // namespace

void start_session(asio::ip::tcp::socket socket, std::shared_ptr<HttpHost> host) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  start<asio::ip::tcp>(std::move(socket), std::move(host));
}

void start_session(asio::local::stream_protocol::socket socket, std::shared_ptr<HttpHost> host) {
  start<asio::local::stream_protocol>(std::move(socket), std::move(host));
}

}  // namespace tenon::server
