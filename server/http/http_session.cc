#include "http_session.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <stop_token>
#include <utility>

#include "chunked_body.h"
#include "guard.h"
#include "http_message.h"
#include "inflate.h"
#include "json_infer.h"
#include "rest_routes.h"

namespace tenon::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

// Its members are called in the stream's executor, but respond(), which whoever answers calls while
// nothing else of the session runs.
class HttpSession final : public HttpConnection, public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(std::unique_ptr<ByteStream> stream, std::string remote,
              std::shared_ptr<HttpHost> host)
      : host_(std::move(host)), stream_(std::move(stream)), remote_(std::move(remote)) {}
  ~HttpSession() override {
    host_->remove(*this);
    end_request();
    host_->release(reserved_);
  }

  void start() {
    if (!host_->add(*this)) return;
    expires_after(host_->options().header_timeout);
    host_->post(stream_->executor(), [self = shared_from_this()] {
      self->stream_->handshake(self->then(&HttpSession::on_handshake));
    });
  }

  void close() override { post(&HttpSession::shut); }

  void tick(Clock::time_point now) override {
    if (is_handled_ || now >= deadline_.load()) post(&HttpSession::look);
  }

 private:
  using Parser = http::request_parser<ChunkedBody>;
  using Step = void (HttpSession::*)();
  using End = void (HttpSession::*)(error_code error, size_t bytes);

  // For operations, for which the session lives.
  ByteStream::Done then(End end) {
    return [self = shared_from_this(), end](error_code error, size_t bytes) {
      ((*self).*end)(error, bytes);
    };
  }

  // For calls from outside, for which it does not.
  void post(Step step) {
    asio::post(stream_->executor(), [weak = weak_from_this(), step] {
      if (const auto self = weak.lock()) ((*self).*step)();
    });
  }

  void expires_at(Clock::time_point time) { deadline_ = time; }
  void expires_after(Clock::duration time) { expires_at(Clock::now() + time); }

  void look() {
    if (is_handled_) {
      if (stream_->is_left()) stop_.request_stop();
    } else if (Clock::now() >= deadline_.load()) {
      shut();
    }
  }

  void shut() {
    stop_.request_stop();
    stream_->close();
  }

  void on_handshake(error_code error, size_t) {
    if (!error) return read_header();
    if (error == asio::error::no_protocol_option)
      end_with(error_response(400, "this port speaks TLS: ask by https"));
    else
      shut();
  }

  // So long as bytes go over they may take: a minute, say, and a second more for each 64 KiB.
  void expect(size_t bytes) {
    const HttpOptions& options = host_->options();
    expires_at(began_ + options.body_timeout
               + std::chrono::seconds(bytes / std::max<size_t>(options.min_rate, 1)));
  }

  void read_header() {
    const HttpOptions& options = host_->options();
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(options.max_header));
    parser_->body_limit(options.max_body);
    stop_ = std::stop_source();
    is_read_ = is_head_ = false;
    is_recorded_ = is_record_wanted();
    record_ = {};
    record_.protocol = stream_->is_tls() ? "https" : "http";
    record_.remote = remote_;
    expires_after(buffer_.size() > 0 ? options.header_timeout : options.idle_timeout);
    parse_header();
  }

  void parse_header() {
    if (!parse()) return;
    if (parser_->is_header_done()) return on_header();
    read_into_buffer(&HttpSession::parse_header);
  }

  // Gives the parser what there is; false where that was no HTTP.
  bool parse() {
    if (buffer_.size() == 0) return true;
    error_code error;
    buffer_.consume(parser_->put(buffer_.data(), error));
    if (!error || error == http::error::need_more) return true;
    fail(error);
    return false;
  }

  void read_into_buffer(Step step) {
    constexpr size_t kPart = size_t{16} << 10;
    const size_t room = std::min(kPart, buffer_.max_size() - buffer_.size());
    if (room == 0) return fail(http::error::buffer_overflow);
    stream_->read_some(buffer_.prepare(room),
                       [self = shared_from_this(), step](error_code error, size_t bytes) {
                         if (error) return self->shut();
                         self->buffer_.commit(bytes);
                         ((*self).*step)();
                       });
  }

  void on_header() {
    host_->begin_request();
    is_counted_ = true;
    const auto& request = parser_->get();
    const HttpOptions& options = host_->options();
    is_head_ = request.method() == http::verb::head;
    is_recorded_ = is_record_wanted();  // again: a connection may have waited for long
    if (is_recorded_) begin_record(request);
    if (host_->is_stopping()) return end_with(error_response(503, "the server is being stopped"));
    if (auto refusal = refusal_of(request, options)) return end_with(*std::move(refusal));
    const auto length = parser_->content_length();
    if (length && *length > options.max_body) return fail(http::error::body_limit);
    length_ = static_cast<size_t>(length.value_or(0));
    // A claim counts for nothing, but what would not fit need not come.
    if (!host_->reserve(length_)) return end_with(too_many_bytes());
    host_->release(length_);
    json_length_ = std::string(request["Inference-Header-Content-Length"]);
    body_ = std::make_shared<Body>(json_length_of(json_length_).value_or(0));
    began_ = Clock::now();
    expect(0);
    if (!beast::iequals(request[http::field::expect], "100-continue")) return read_body();
    buffers_ = {asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n"))};
    written_ = 0;
    write_all(&HttpSession::read_body);
  }

  void read_body() {
    if (parser_->chunked()) {
      parser_->get().body() = body_;
      parser_->eager(true);
      return parse_chunks();
    }
    const size_t bytes = std::min(buffer_.size(), length_);
    if (!make_room(bytes)) return;
    body_->append(buffer_.data().data(), bytes);
    buffer_.consume(bytes);
    read_rest();
  }

  // It comes in where its tensors stay.
  void read_rest() {
    if (!takes_body()) return;
    if (body_->size() == length_) return on_request();
    if (!make_room(1)) return;
    const auto room = body_->room();
    stream_->read_some({room.data(), std::min(room.size(), length_ - body_->size())},
                       [self = shared_from_this()](error_code error, size_t bytes) {
                         if (error) return self->shut();
                         self->body_->add(bytes);
                         self->read_rest();
                       });
  }

  bool make_room(size_t bytes) {
    try {
      body_->make_room(bytes, length_);
      return true;
    } catch (const std::bad_alloc&) {
      fail(boost::system::errc::make_error_code(boost::system::errc::not_enough_memory));
      return false;
    }
  }

  void parse_chunks() {
    if (!parse() || !takes_body()) return;
    if (parser_->is_done()) return on_request();
    read_into_buffer(&HttpSession::parse_chunks);
  }

  // What has come of the body counts; false where that is too much.
  bool takes_body() {
    const size_t bytes = body_->size();
    record_.bytes_in = bytes;
    if (!host_->reserve(bytes - reserved_)) {
      end_with(too_many_bytes());
      return false;
    }
    reserved_ = bytes;
    expect(bytes);
    return true;
  }

  void on_request() {
    expires_at(Clock::time_point::max());
    is_read_ = true;
    const auto& message = parser_->get();
    keeps_ = message.keep_alive() && !host_->is_stopping();
    RestRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    request.trace = std::string(message["traceparent"]);
    request.json_length = std::move(json_length_);
    request.stop = stop_.get_token();
    auto inflated =
        inflate(std::exchange(body_, nullptr), std::string(message[http::field::content_encoding]),
                json_length_of(request.json_length).value_or(0), host_->options().max_body);
    if (auto* const refusal = std::get_if<RestResponse>(&inflated))
      return write(std::move(*refusal));
    request.body = std::get<std::shared_ptr<Body>>(std::move(inflated));
    const size_t bytes = request.body->size();
    const size_t more = bytes > reserved_ ? bytes - reserved_ : 0;
    if (!host_->reserve(more)) return write(too_many_bytes());
    reserved_ += more;
    parser_.reset();
    is_handled_ = true;
    host_->handle(std::move(request), [self = shared_from_this()](RestResponse response) {
      self->respond(std::move(response));
    });
  }

  // A short response goes out at once: another thread would have to wake up for it first.
  void respond(RestResponse response) {
    constexpr size_t kShort = size_t{64} << 10;
    make_message(std::move(response));
    size_t bytes = 0;
    if (asio::buffer_size(buffers_) <= kShort) (void)stream_->send(buffers_, bytes);
    drop(buffers_, bytes);
    host_->post(stream_->executor(), [self = shared_from_this(), bytes] {
      self->is_handled_ = false;
      self->begin_to_write(bytes);
    });
  }

  static RestResponse too_many_bytes() {
    return error_response(429, "requests and responses take too much memory: try again");
  }

  // A client that does not read what it asked for holds its response, which counts until then.
  bool reserve(const RestResponse& response) {
    const size_t bytes = bytes_of(response);
    if (!host_->reserve(bytes)) return false;
    reserved_ += bytes;
    return true;
  }

  void write(RestResponse response) {
    make_message(std::move(response));
    begin_to_write(0);
  }

  void make_message(RestResponse response) {
    response_ = reserve(response) ? std::move(response) : too_many_bytes();
    buffers_ = body_of(response_);
    head_ = head_of(response_, asio::buffer_size(buffers_), keeps_);
    if (is_head_) buffers_.clear();
    record_.bytes_out = asio::buffer_size(buffers_);
    buffers_.insert(buffers_.begin(), asio::buffer(head_));
  }

  // @param bytes of the message that went already.
  void begin_to_write(size_t bytes) {
    began_ = Clock::now();
    written_ = bytes;
    write_all(&HttpSession::on_written);
  }

  void write_all(Step step) {
    drop(buffers_, 0);
    if (buffers_.empty()) return (this->*step)();
    expect(written_);
    stream_->write_some(buffers_,
                        [self = shared_from_this(), step](error_code error, size_t bytes) {
                          if (error) return self->on_failed_write();
                          self->written_ += bytes;
                          drop(self->buffers_, bytes);
                          self->write_all(step);
                        });
  }

  void on_failed_write() {
    end_response();
    shut();
  }

  void end_response() {
    if (is_recorded_) end_record(*host_->options().records);
    response_ = {};
    buffers_.clear();
    host_->release(std::exchange(reserved_, 0));
    end_request();
  }

  void on_written() {
    end_response();
    if (keeps_) return read_header();
    expires_after(host_->options().header_timeout);
    stream_->end_writing(then(&HttpSession::drop_rest));
  }

  // A client that still sends what nobody wants reads its response afterwards: a connection that
  // was closed before would be reset, and the response lost.
  void drop_rest(error_code error, size_t) {
    if (error || is_read_) return;
    buffer_.clear();
    stream_->read_some(buffer_.prepare(size_t{16} << 10), then(&HttpSession::drop_rest));
  }

  bool is_record_wanted() const {
    const RequestRecords* const records = host_->options().records;
    return records != nullptr && records->are_wanted();
  }

  void begin_record(const http::request_header<>& request) {
    record_.begin = Clock::now();
    record_.method = std::string(request.method_string());
    record_.path = std::string(request.target());
    record_.trace = std::string(request["traceparent"]);
  }

  void end_record(RequestRecords& records) {
    ServedRequest& served = response_.served;
    record_.model = std::move(served.model);
    record_.version = std::move(served.version);
    record_.id = std::move(served.id);
    record_.times = served.times;
    record_.status = std::to_string(response_.status);
    records.add(record_);
  }

  void end_request() {
    if (std::exchange(is_counted_, false)) host_->end_request();
  }

  // A last response to a request whose rest is not read.
  void end_with(RestResponse response) {
    keeps_ = false;
    write(std::move(response));
  }

  void fail(error_code error) { end_with(refusal_of(error, host_->options())); }

  const std::shared_ptr<HttpHost> host_;
  const std::unique_ptr<ByteStream> stream_;
  const std::string remote_;
  std::atomic<Clock::time_point> deadline_{Clock::time_point::max()};
  std::atomic<bool> is_handled_ = false;  // the handler has the request
  // Lines of chunks and trailers have no other bound.
  beast::flat_buffer buffer_{host_->options().max_header + (size_t{64} << 10)};
  std::optional<Parser> parser_;
  std::string json_length_;
  size_t length_ = 0;  // of the body, if the header says it
  std::shared_ptr<Body> body_;
  RestResponse response_;
  std::string head_;
  Buffers buffers_;          // what is left to write
  Clock::time_point began_;  // the body, or the response
  std::stop_source stop_;
  AccessRecord record_;  // of the request that is answered, if it is recorded
  size_t reserved_ = 0, written_ = 0;
  bool keeps_ = false, is_head_ = false, is_counted_ = false, is_recorded_ = false;
  bool is_read_ = false;  // the whole request
};

}  // namespace

void start_session(std::unique_ptr<ByteStream> stream, std::string remote,
                   std::shared_ptr<HttpHost> host) {
  std::make_shared<HttpSession>(std::move(stream), std::move(remote), std::move(host))->start();
}

}  // namespace tenon::server
