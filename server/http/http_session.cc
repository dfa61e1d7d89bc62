#include "http_session.h"

#include <poll.h>
#include <sys/socket.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <optional>
#include <stop_token>
#include <utility>

#include "guard.h"
#include "inflate.h"
#include "remote_text.h"
#include "request_body.h"
#include "response_body.h"
#include "rest_routes.h"
#include "tls_context.h"
#include "token.h"

namespace tenon::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

template <class Stream> constexpr bool is_tls = false;
template <class Lower> constexpr bool is_tls<beast::ssl_stream<Lower>> = true;

// Over a stream of TLS, or one of sockets.
template <class Stream>
class HttpSession final : public HttpConnection,
                          public std::enable_shared_from_this<HttpSession<Stream>> {
 public:
  template <class... Arguments>
  explicit HttpSession(std::shared_ptr<HttpHost> host, Arguments&&... stream)
      : host_(std::move(host)), stream_(std::forward<Arguments>(stream)...) {}
  ~HttpSession() override {
    host_->remove(*this);
    end_request();
    host_->release(reserved_);
  }

  void start() {
    if (!host_->add(*this)) return;
    if (host_->options().access_log != nullptr) remote_ = remote_text(socket());
    if constexpr (is_tls<Stream>) {
      lowest().expires_after(host_->options().header_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server, then(&HttpSession::on_handshake));
    } else {
      read_header();
    }
  }

  void close() override {
    // The server is over: what is pending ends with an error.
    auto self = this->weak_from_this();
    asio::post(stream_.get_executor(), [self] {
      if (const auto session = self.lock()) session->shut();
    });
  }

 private:
  using Parser = http::request_parser<RequestBody>;
  using Message = http::response<ResponseBody>;

  auto& lowest() { return beast::get_lowest_layer(stream_); }
  auto& socket() { return lowest().socket(); }

  // A member as what is called when an operation ends, for which the session lives.
  template <class Member> auto then(Member member) {
    return [self = this->shared_from_this(), member](error_code error, auto...) {
      ((*self).*member)(error);
    };
  }

  void shut() {
    error_code ignored;
    stop_.request_stop();
    look_again_.cancel();
    socket().shutdown(asio::socket_base::shutdown_both, ignored);
    socket().close(ignored);
  }

  void on_handshake(error_code error) {
    if (!error) return read_header();
    if (!is_plain_http(error)) return shut();
    auto text = std::make_shared<const std::string>(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
        R"({"error":"this port speaks TLS: ask by https"})");
    asio::async_write(lowest(), asio::buffer(*text),
                      [self = this->shared_from_this(), text](error_code, size_t) {
                        self->close_after_rest({});
                      });
  }

  // So long as bytes go over they may take: a minute, say, and a second more for each 64 KiB.
  void expect(size_t bytes) {
    const HttpOptions& options = host_->options();
    lowest().expires_at(began_ + options.body_timeout
                        + std::chrono::seconds(bytes / std::max<size_t>(options.min_rate, 1)));
  }

  void read_header() {
    const HttpOptions& options = host_->options();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(options.max_header));
    parser_->body_limit(options.max_body);
    stop_ = std::stop_source();
    is_read_ = false;
    record_ = {};
    record_.protocol = is_tls<Stream> ? "https" : "http";
    record_.remote = remote_;
    lowest().expires_after(buffer_.size() > 0 ? options.header_timeout : options.idle_timeout);
    http::async_read_header(stream_, buffer_, *parser_, then(&HttpSession::on_header));
  }

  void on_header(error_code error) {
    if (error) return fail(error);
    host_->begin_request();
    is_counted_ = true;
    const auto& request = parser_->get();
    const HttpOptions& options = host_->options();
    if (options.access_log != nullptr) begin_record(request);
    if (host_->is_stopping()) return end_with(error_response(503, "the server is being stopped"));
    if (!options.token.empty()
        && !is_same_secret("Bearer " + options.token,
                           std::string(request[http::field::authorization])))
      return end_with(
          error_response(401, "expected Authorization: Bearer with the server's token"));
    const auto length = parser_->content_length();
    if (length && *length > options.max_body) return fail(http::error::body_limit);
    // A claim counts for nothing, but what would not fit need not come.
    if (!host_->reserve(length.value_or(0))) return end_with(too_many_bytes());
    host_->release(length.value_or(0));
    began_ = std::chrono::steady_clock::now();
    expect(0);
    if (beast::iequals(request[http::field::expect], "100-continue")) {
      auto answer = std::make_shared<http::response<http::empty_body>>(http::status::continue_, 11);
      http::async_write(stream_, *answer,
                        [self = this->shared_from_this(), answer](error_code failed, size_t) {
                          if (!failed) self->read_body();
                        });
      return;
    }
    read_body();
  }

  void read_body() {
    if (parser_->is_done()) return on_request();
    http::async_read_some(stream_, buffer_, *parser_, then(&HttpSession::on_part));
  }

  void on_part(error_code error) {
    if (error) return fail(error);
    const size_t bytes = parser_->get().body().size();
    record_.bytes_in = bytes;
    if (!host_->reserve(bytes - reserved_)) return end_with(too_many_bytes());
    reserved_ = bytes;
    expect(bytes);
    read_body();
  }

  void on_request() {
    lowest().expires_never();
    is_read_ = true;
    auto message = parser_->release();
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
    socket().async_wait(asio::socket_base::wait_read, then(&HttpSession::on_sign));
  }

  void on_sign(error_code error) {
    if (error || is_answering_ || stop_.stop_requested()) return;  // answered, or shut
    constexpr short kGone = POLLRDHUP | POLLHUP | POLLERR;
    pollfd descriptor{socket().native_handle(), POLLRDHUP, 0};
    if (::poll(&descriptor, 1, 0) == 1 && (descriptor.revents & kGone) != 0) {
      stop_.request_stop();
      return;
    }
    // It sent more, which is not read yet, and may still go.
    look_again_.expires_after(std::chrono::milliseconds(100));
    look_again_.async_wait(then(&HttpSession::on_sign));
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
    socket().cancel(ignored);
    look_again_.cancel();
    message_.emplace();
    Message& message = *message_;
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
    record_.bytes_out = ResponseBody::size(body);
    if (is_head_) body.buffers.clear();
    serializer_.emplace(message);
    began_ = std::chrono::steady_clock::now();
    written_ = 0;
    write_part();
  }

  void write_part() {
    expect(written_);
    http::async_write_some(stream_, *serializer_,
                           [self = this->shared_from_this()](error_code error, size_t bytes) {
                             self->written_ += bytes;
                             if (error || self->serializer_->is_done())
                               self->on_written(error);
                             else
                               self->write_part();
                           });
  }

  void on_written(error_code error) {
    if (AccessLog* const log = host_->options().access_log) end_record(*log);
    serializer_.reset();
    message_.reset();
    host_->release(std::exchange(reserved_, 0));
    end_request();
    if (error) return shut();
    if (keeps_) return read_header();
    if constexpr (is_tls<Stream>) {
      lowest().expires_after(host_->options().header_timeout);
      stream_.async_shutdown(then(&HttpSession::close_after_rest));
    } else {
      close_after_rest({});
    }
  }

  // A client that still sends what nobody wants reads its response afterwards: a connection that
  // was closed before would be reset, and the response lost.
  void close_after_rest(error_code) {
    error_code ignored;
    socket().shutdown(asio::socket_base::shutdown_send, ignored);
    if (is_read_) return;
    parser_.reset();
    buffer_.clear();
    lowest().expires_after(host_->options().header_timeout);
    drop_rest({});
  }

  void drop_rest(error_code error) {
    if (error) return;
    lowest().async_read_some(buffer_.prepare(size_t{16} << 10), then(&HttpSession::drop_rest));
  }

  void begin_record(const http::request_header<>& request) {
    record_.begin = Clock::now();
    record_.method = std::string(request.method_string());
    record_.path = std::string(request.target());
    record_.trace = std::string(request["traceparent"]);
  }

  void end_record(AccessLog& log) {
    ServedRequest& served = message_->body().response.served;
    record_.model = std::move(served.model);
    record_.version = std::move(served.version);
    record_.id = std::move(served.id);
    record_.queue = served.queue;
    record_.compute = served.compute;
    record_.status = std::to_string(message_->result_int());
    log.add(record_);
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
    if (error == boost::system::errc::not_enough_memory)
      return end_with(error_response(503, "out of memory"));
    const bool is_bad_request =
        error.category() == http::make_error_code(http::error::bad_method).category()
        && error != http::error::end_of_stream && error != http::error::partial_message;
    if (is_bad_request) return end_with(error_response(400, "no HTTP request: " + error.message()));
    shut();
  }

  std::shared_ptr<HttpHost> host_;
  Stream stream_;
  asio::steady_timer look_again_{stream_.get_executor()};
  // Lines of chunks and trailers have no other bound.
  beast::flat_buffer buffer_{host_->options().max_header + (size_t{64} << 10)};
  std::optional<Parser> parser_;
  std::optional<Message> message_;
  std::optional<http::response_serializer<ResponseBody>> serializer_;
  std::chrono::steady_clock::time_point began_;  // the body, or the response
  std::stop_source stop_;
  std::string remote_;
  AccessRecord record_;  // of the request that is answered, if there is an access log
  size_t reserved_ = 0, written_ = 0;
  bool keeps_ = false, is_head_ = false, is_answering_ = false, is_counted_ = false;
  bool is_read_ = false;  // the whole request
};

template <class Stream, class... Arguments>
void start(std::shared_ptr<HttpHost> host, Arguments&&... stream) {
  std::make_shared<HttpSession<Stream>>(std::move(host), std::forward<Arguments>(stream)...)
      ->start();
}

template <class Protocol>
void start_any(typename Protocol::socket socket, std::shared_ptr<HttpHost> host) {
  using Plain = beast::basic_stream<Protocol>;
  if (asio::ssl::context* const tls = host->tls())
    start<beast::ssl_stream<Plain>>(std::move(host), std::move(socket), *tls);
  else
    start<Plain>(std::move(host), std::move(socket));
}

}  // namespace

void start_session(asio::ip::tcp::socket socket, std::shared_ptr<HttpHost> host) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  start_any<asio::ip::tcp>(std::move(socket), std::move(host));
}

void start_session(asio::local::stream_protocol::socket socket, std::shared_ptr<HttpHost> host) {
  start_any<asio::local::stream_protocol>(std::move(socket), std::move(host));
}

}  // namespace tenon::server
