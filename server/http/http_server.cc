#include "http_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <tenon/printable.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <variant>

#include "byte_stream.h"
#include "guard.h"
#include "http_session.h"
#include "remote_text.h"
#include "tls_context.h"

namespace tenon::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr auto kTick = std::chrono::milliseconds(100);  // between looks at what takes too long

// A thread, and what runs in it: whatever belongs to one connection runs in one thread, which no
// other one wakes up.
struct IoThread {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  std::thread thread;
};

// The socket of a server that was killed; nothing else.
void unlink_if_dead(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  asio::io_context io;
  Local::socket socket(io);
  error_code error;
  socket.connect(Local::endpoint(path), error);
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

}  // namespace

// Sessions hold it, so it lives as long as one does.
class HttpServer::Inside final : public HttpHost, public std::enable_shared_from_this<Inside> {
 public:
  Inside(const HttpOptions& options, RestHandler handler)
      : options_(options),
        handler_(std::move(handler)),
        tls_(make_tls_context(options.tls)),
        threads_(static_cast<size_t>(std::max(options.threads, 1))) {
    if (options.address.starts_with("unix:"))
      listen_local(options.address.substr(5));
    else
      listen_tcp();
  }

  void start() {
    std::visit([this](auto& acceptor) { accept(acceptor); }, acceptor_);
    tick();
    for (IoThread& one : threads_) one.thread = std::thread([&one] { one.io.run(); });
  }

  void stop(std::chrono::milliseconds timeout) noexcept {
    {
      std::unique_lock lock(mutex_);
      if (is_over_) return;
      is_stopping_ = true;
    }
    std::visit(
        []<class Acceptor>(Acceptor& acceptor) {
          if constexpr (!std::is_same_v<Acceptor, std::monostate>)
            asio::post(acceptor.get_executor(), [&acceptor] {
              error_code ignored;
              acceptor.close(ignored);
            });
        },
        acceptor_);
    {
      std::unique_lock lock(mutex_);
      idle_.wait_for(lock, timeout, [&] { return requests_ == 0; });
      is_over_ = true;
      for (HttpConnection* const connection : connections_) connection->close();
    }
    asio::post(first(), [this] { timer_.cancel(); });
    for (IoThread& one : threads_) one.work.reset();
    for (IoThread& one : threads_)
      if (one.thread.joinable()) one.thread.join();
    slow_.join();
    if (options_.address.starts_with("unix:")) ::unlink(options_.address.c_str() + 5);
  }

  uint16_t port() const { return port_; }

  // Of HttpHost.
  const HttpOptions& options() const override { return options_; }
  bool is_stopping() const override { return is_stopping_; }
  bool add(HttpConnection& connection) override {
    const std::lock_guard lock(mutex_);
    if (is_over_ || connections_.size() >= options_.max_connections) return false;
    connections_.insert(&connection);
    return true;
  }
  void remove(HttpConnection& connection) override {
    const std::lock_guard lock(mutex_);
    connections_.erase(&connection);
  }
  bool reserve(size_t bytes) override {
    if (body_bytes_.fetch_add(bytes) + bytes <= options_.max_body_bytes) return true;
    release(bytes);
    return false;
  }
  void release(size_t bytes) override { body_bytes_.fetch_sub(bytes); }
  void begin_request() override {
    const std::lock_guard lock(mutex_);
    ++requests_;
  }
  void handle(RestRequest request, Respond respond) override {
    const bool is_slow = options_.is_slow && options_.is_slow(request);
    auto call = [this, request = std::move(request), respond = std::move(respond)]() mutable {
      handler_(std::move(request), std::move(respond));
    };
    if (is_slow)
      asio::post(slow_, std::move(call));
    else
      call();
  }
  void end_request() override {
    const std::lock_guard lock(mutex_);
    if (--requests_ == 0) idle_.notify_all();
  }
  bool post(asio::any_io_executor executor, std::function<void()> call) override {
    const std::lock_guard lock(mutex_);
    if (is_over_) return false;
    asio::post(executor, std::move(call));
    return true;
  }

 private:
  void listen_tcp() {
    error_code error;
    const auto address = asio::ip::make_address(options_.address, error);
    if (error)
      throw Error{"expected an IP address or unix:PATH to listen on, found '"
                  + printable(options_.address) + "'"};
    auto& acceptor = acceptor_.emplace<Tcp::acceptor>(first());
    const Tcp::endpoint endpoint(address, options_.port);
    listen(acceptor, endpoint, options_.address + ":" + std::to_string(options_.port));
    port_ = acceptor.local_endpoint(error).port();
  }
  void listen_local(const std::string& path) {
    unlink_if_dead(path);
    try {
      listen(acceptor_.emplace<Local::acceptor>(first()), Local::endpoint(path), path);
    } catch (const boost::system::system_error& cause) {
      throw Error{"cannot listen on " + printable(path) + ": " + cause.what()};
    }
  }
  template <class Acceptor, class Endpoint>
  void listen(Acceptor& acceptor, const Endpoint& endpoint, const std::string& where) {
    error_code error;
    if (!error) acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) throw Error{"cannot listen on " + printable(where) + ": " + error.message()};
  }

  void accept(std::monostate) {}
  template <class Acceptor> void accept(Acceptor& acceptor) {
    const asio::any_io_executor io = threads_[next_++ % threads_.size()].io.get_executor();
    acceptor.async_accept(io, [this, &acceptor](error_code error, auto socket) {
      if (error == asio::error::operation_aborted || !acceptor.is_open()) return;
      if (error) {  // no descriptors are left, say: others end meanwhile
        auto wait = std::make_shared<asio::steady_timer>(acceptor.get_executor(),
                                                         std::chrono::milliseconds(50));
        wait->async_wait([this, wait, &acceptor](error_code) { accept(acceptor); });
        return;
      }
      start_session(std::move(socket));
      accept(acceptor);
    });
  }

  // By the type of its protocol a socket is one of the two only until here.
  template <class From> void start_session(From socket) {
    std::string remote;
    if (options_.records != nullptr) remote = remote_text(socket);
    if constexpr (std::is_same_v<From, Tcp::socket>) {
      error_code ignored;
      socket.set_option(Tcp::no_delay(true), ignored);
    }
    server::start_session(make_byte_stream(Socket(std::move(socket)), tls_.get()),
                          std::move(remote), shared_from_this());
  }

  void tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([this](error_code) {
      {
        const std::lock_guard lock(mutex_);
        if (is_over_) return;
        const auto now = std::chrono::steady_clock::now();
        for (HttpConnection* const connection : connections_) connection->tick(now);
      }
      tick();
    });
  }

  // The one that accepts.
  asio::io_context& first() { return threads_[0].io; }

  const HttpOptions options_;
  const RestHandler handler_;
  const std::unique_ptr<asio::ssl::context> tls_;
  std::vector<IoThread> threads_;
  std::variant<std::monostate, Tcp::acceptor, Local::acceptor> acceptor_;
  asio::thread_pool slow_{1};
  asio::steady_timer timer_{first()};
  uint16_t port_ = 0;
  size_t next_ = 0;

  std::atomic<bool> is_stopping_ = false;
  std::atomic<size_t> body_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable idle_;
  size_t requests_ = 0;
  bool is_over_ = false;  // nothing is posted any more
  std::set<HttpConnection*> connections_;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      RestHandler handler) noexcept {
  return session::guard([&] {
    auto inside = std::make_shared<Inside>(options, std::move(handler));
    std::unique_ptr<HttpServer> server(new HttpServer(inside));
    try {
      inside->start();
    } catch (const std::exception& cause) {
      throw Error{std::string("cannot start threads: ") + cause.what()};
    }
    return server;
  });
}

HttpServer::~HttpServer() {
  stop(std::chrono::milliseconds(0));
}

uint16_t HttpServer::port() const {
  return inside_->port();
}

void HttpServer::stop(std::chrono::milliseconds timeout) noexcept {
  inside_->stop(timeout);
}

}  // namespace tenon::server
