#include "http_transport.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <deque>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "http_url.h"
#include "response_body.h"

namespace tenon::load {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Stream = asio::generic::stream_protocol;

constexpr size_t kReadBytes = 64 << 10;
constexpr auto kTick = std::chrono::milliseconds(50);  // between looks at what takes too long

struct Ticket {
  Clock::time_point intended, sent;
};

struct Shared {
  Stream::endpoint endpoint;
  bool is_tcp = false;
  HttpMessage message;
  std::chrono::milliseconds timeout;
  Receive receive;
};

class Shard;

// One request at a time. It lives as long as its shard, whose thread alone uses it.
class Connection {
 public:
  Connection(Shard& shard, asio::io_context& io, const Shared& shared)
      : shard_(shard), shared_(shared), socket_(io) {
    buffer_.reserve(kReadBytes);
  }

  bool is_idle() const { return !ticket_; }
  void start(Ticket ticket) {
    ticket_ = ticket;
    is_late_ = has_retried_ = false;
    deadline_ = ticket.sent + shared_.timeout;
    if (socket_.is_open())
      write(true);
    else
      connect();
  }
  void check(Clock::time_point now) {
    if (is_idle() || now < deadline_) return;
    is_late_ = true;
    close();
  }
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  void connect() {
    socket_.async_connect(shared_.endpoint, [this](error_code error) {
      if (error) return fail("cannot connect: " + error.message());
      error_code ignored;
      if (shared_.is_tcp) socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
      write(false);
    });
  }

  // @param is_used the connection has answered before, and may have been closed meanwhile.
  void write(bool is_used) {
    const std::array<asio::const_buffer, 2> parts{asio::buffer(shared_.message.head),
                                                  asio::buffer(shared_.message.body)};
    asio::async_write(socket_, parts, [this, is_used](error_code error, size_t) {
      // A server may respond, and close, before it has read all: so what it says is looked at.
      read(is_used, error);
    });
  }

  void read(bool is_used, error_code of_write) {
    parser_.emplace();
    parser_->body_limit(std::numeric_limits<uint64_t>::max());  // none is a bug in 1.74
    http::async_read(
        socket_, buffer_, *parser_, [this, is_used, of_write](error_code error, size_t) {
          if (!error) return receive();
          const bool is_stale = is_used && !has_retried_ && !is_late_ && !parser_->got_some();
          if (!is_stale) return fail((of_write ? of_write : error).message());
          has_retried_ = true;
          close();
          connect();
        });
  }

  void receive() {
    const unsigned status = parser_->get().result_int();
    Outcome outcome = Outcome::kFailed;
    if (status == 200) outcome = Outcome::kAnswered;
    if (status == 429) outcome = Outcome::kRefused;
    if (status == 504) outcome = Outcome::kExpired;
    std::string text;
    if (status != 200) text = std::to_string(status) + ": " + parser_->get().body().begin;
    if (!parser_->keep_alive()) end_stream();
    end(outcome, std::move(text));
  }

  void end_stream() {
    close();
    buffer_.clear();
  }

  void fail(const std::string& text) {
    end_stream();
    if (is_late_)
      end(Outcome::kExpired, "no answer in time");
    else
      end(Outcome::kFailed, text);
  }

  void end(Outcome outcome, std::string text);

  Shard& shard_;
  const Shared& shared_;
  Stream::socket socket_;
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<ResponseBeginning>> parser_;
  std::optional<Ticket> ticket_;
  Clock::time_point deadline_;
  bool is_late_ = false, has_retried_ = false;
};

// Connections of one thread.
class Shard {
 public:
  Shard(const Shared& shared, size_t connections) : shared_(shared), max_connections_(connections) {
    tick();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Shard() { end(); }

  /// Nothing is received afterwards.
  void end() {
    if (!thread_.joinable()) return;
    is_over_ = true;
    io_.stop();
    thread_.join();
  }

  bool is_this_thread() { return io_.get_executor().running_in_this_thread(); }
  void send(Clock::time_point intended) {
    asio::dispatch(io_, [this, intended] {
      waiting_.push_back(intended);
      send_waiting();
    });
  }

  void end(Connection& connection, Sent sent) {
    if (is_over_) return;
    idle_.push_back(&connection);
    shared_.receive(std::move(sent));
    send_waiting();
  }

 private:
  void send_waiting() {
    while (!waiting_.empty()) {
      if (idle_.empty() && connections_.size() < max_connections_) {
        connections_.push_back(std::make_unique<Connection>(*this, io_, shared_));
        idle_.push_back(connections_.back().get());
      }
      if (idle_.empty()) return;
      Connection* const connection = idle_.back();
      idle_.pop_back();
      const auto intended = waiting_.front();
      waiting_.pop_front();
      connection->start({intended, Clock::now()});
    }
  }

  // Also what waits for a connection ends in time.
  void tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([this](error_code error) {
      if (error) return;
      const auto now = Clock::now();
      for (const auto& connection : connections_) connection->check(now);
      while (!waiting_.empty() && now - waiting_.front() > shared_.timeout) {
        const auto intended = waiting_.front();
        waiting_.pop_front();
        shared_.receive({intended, now, Outcome::kExpired, "no connection was free in time"});
      }
      tick();
    });
  }

  const Shared& shared_;
  const size_t max_connections_;
  std::atomic<bool> is_over_ = false;
  asio::io_context io_{1};
  asio::steady_timer timer_{io_};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> idle_;
  std::deque<Clock::time_point> waiting_;
  std::thread thread_;  // last: it uses what is above
};

void Connection::end(Outcome outcome, std::string text) {
  const Ticket ticket = *std::exchange(ticket_, std::nullopt);
  shard_.end(*this, {ticket.intended, ticket.sent, outcome, std::move(text)});
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(Shared shared, const TransportOptions& options) : shared_(std::move(shared)) {
    const size_t count = std::min(std::max<size_t>(options.threads, 1), options.connections);
    for (size_t i = 0; i < count; ++i)
      shards_.push_back(
          std::make_unique<Shard>(shared_, (options.connections + count - 1 - i) / count));
  }
  // Each thread may look at all shards while it sends.
  ~HttpTransport() override {
    for (const auto& shard : shards_) shard->end();
  }

  void send(Clock::time_point intended) override {
    for (const auto& shard : shards_)
      if (shard->is_this_thread()) return shard->send(intended);
    shards_[next_++ % shards_.size()]->send(intended);
  }

 private:
  const Shared shared_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace

std::unique_ptr<Transport> make_http_transport(const HttpAddress& address, HttpMessage message,
                                               const TransportOptions& options, Receive receive) {
  Shared shared{resolve(address), address.path.empty(), std::move(message), options.timeout,
                std::move(receive)};
  return std::make_unique<HttpTransport>(std::move(shared), options);
}

}  // namespace tenon::load
