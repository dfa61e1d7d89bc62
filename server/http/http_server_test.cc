#include "http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

namespace tenon::server {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client that writes bytes as they are, and reads what comes.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  explicit Client(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::snprintf(to.sun_path, sizeof to.sun_path, "%s", path.c_str());
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Client() { close(); }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void send(const std::string& bytes) const {
    EXPECT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  bool is_closed() const {
    char byte;
    return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  // What comes until the text has, or until the server closes.
  std::string receive(const std::string& end = "") const {
    std::string all;
    char bytes[4096];
    while (end.empty() || all.find(end) == std::string::npos) {
      const ssize_t n = ::recv(socket_, bytes, sizeof bytes, 0);
      if (n <= 0) break;
      all.append(bytes, static_cast<size_t>(n));
    }
    return all;
  }

 private:
  int socket_;
};

std::string post(const std::string& body, const std::string& headers = "") {
  return "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n"
         + headers + "\r\n" + body;
}

// Responds with what it was sent.
void echo(RestRequest request, const Respond& respond) {
  RestResponse response;
  response.text = request.method + " " + request.target + " "
                  + std::string(request.body->begin(), request.body->end());
  respond(std::move(response));
}

std::unique_ptr<HttpServer> start(HttpOptions options, RestHandler handler = echo) {
  if (options.address == "0.0.0.0") options.address = "127.0.0.1";
  auto server = HttpServer::start(options, std::move(handler));
  EXPECT_TRUE(server) << server.error();
  return server ? *std::move(server) : nullptr;
}

TEST(HttpServer, AnswersRequestsOfAConnectionInTheirOrder) {
  const auto server = start({});
  const Client client(server->port());
  client.send(post("one") + post("two"));  // the second comes before the first is answered
  const std::string got = client.receive("two");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(got, HasSubstr("POST /x one"));
  EXPECT_LT(got.find("one"), got.find("two"));
}

TEST(HttpServer, ListensOnASocketOfTheFileSystem) {
  const std::string path = ::testing::TempDir() + "http." + std::to_string(getpid()) + ".sock";
  HttpOptions options;
  options.address = "unix:" + path;
  const auto server = start(options);
  const Client client(path);
  client.send(post("hello"));
  EXPECT_THAT(client.receive("hello"), HasSubstr("200 OK"));
}

TEST(HttpServer, BodiesInChunksAndInGzipAreRead) {
  const auto server = start({});
  const Client client(server->port());
  client.send(
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
  EXPECT_THAT(client.receive("abc"), HasSubstr("POST /x abc"));
  // Python's gzip.compress(b"tenon", mtime=0).
  const std::string gzip(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x49\xcd\xcb\xcf\x03\x00\x3e\x6b\xae\xcc\x05\x00"
      "\x00"
      "\x00",
      25);
  client.send(post(gzip, "Content-Encoding: gzip\r\n"));
  EXPECT_THAT(client.receive("tenon"), HasSubstr("POST /x tenon"));
  client.send(post(gzip.substr(0, 15), "Content-Encoding: gzip\r\n"));
  EXPECT_THAT(client.receive("}"), HasSubstr("cut short"));
  client.send(post("tenon", "Content-Encoding: gzip\r\n"));
  EXPECT_THAT(client.receive("}"), HasSubstr("damaged"));
  client.send(post("tenon", "Content-Encoding: br\r\n"));
  EXPECT_THAT(client.receive("}"), AllOf(StartsWith("HTTP/1.1 415"), HasSubstr("found 'br'")));
  client.send(post(gzip + gzip, "Content-Encoding: gzip\r\n"));
  EXPECT_THAT(client.receive("}"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("found 25 bytes more")));
}

TEST(HttpServer, ACompressedBodyStaysWithinTheBound) {
  HttpOptions options;
  options.max_body = 1000;
  const auto server = start(options);
  const Client client(server->port());
  // Python's zlib.compress(bytes(100000)).
  std::string bomb("\x78\x9c\xed\xc1\x01\x0d\x00\x00\x00\xc2\xa0\xf7\x4f\x6d\x0e\x37\xa0", 17);
  bomb += std::string(90, '\0');
  client.send(post(bomb, "Content-Encoding: deflate\r\n"));
  EXPECT_THAT(client.receive("}"),
              AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("larger than 1000 bytes")));
  // Python's zlib.compress(b"a" * 1000): as large as it may be.
  client.send(post(std::string("\x78\x9c\x4b\x4c\x1c\x05\xa3\x60\x14\x0c\x77\x00\x00\xf9\xd8\x7a"
                               "\xf8",
                               17),
                   "Content-Encoding: deflate\r\n"));
  EXPECT_THAT(client.receive("aaa"), HasSubstr("POST /x aaa"));
}

TEST(HttpServer, WhatIsTooLargeOrNoHttpIsRefused) {
  HttpOptions options;
  options.max_body = 100;
  options.max_header = 1000;
  const auto server = start(options);
  const auto answer = [&](const std::string& bytes) {
    const Client client(server->port());
    client.send(bytes);
    return client.receive();
  };
  EXPECT_THAT(answer(post(std::string(101, 'a'))), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n"
                     + std::string(255, 'a') + "\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer("GET / HTTP/1.1\r\nA: " + std::string(2000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  // Lines of chunks have no end of their own.
  EXPECT_THAT(answer("POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;a="
                     + std::string(100000, 'a')),
              StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("POST /x HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n"),
              StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer("POST /x HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  // Where its body ends nobody knows: what follows is no other request.
  for (const std::string coding : {"gzip", "chunked, gzip", "gzip\r\nTransfer-Encoding: chunked"})
    EXPECT_THAT(answer("POST /x HTTP/1.1\r\nTransfer-Encoding: " + coding
                       + "\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 501"), ::testing::Not(HasSubstr("200 OK"))));
  options.max_body_bytes = 50;
  const auto full = start(options);
  const Client client(full->port());
  client.send(post(std::string(60, 'a')));
  const std::string got = client.receive();
  EXPECT_THAT(got, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(got, HasSubstr("Retry-After: 1"));
}

TEST(HttpServer, ATokenIsAskedForIfThereIsOne) {
  HttpOptions options;
  options.token = "secret";
  const auto server = start(options);
  const Client client(server->port());
  client.send(post("a"));
  EXPECT_THAT(client.receive(),
              AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("\r\nWWW-Authenticate: Bearer\r\n")));
  const Client asks(server->port());
  asks.send("HEAD / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(asks.receive(), AllOf(StartsWith("HTTP/1.1 401"), EndsWith("\r\n\r\n")));
  for (const std::string known : {"Bearer secret", "bearer secret"}) {
    const Client knows(server->port());
    knows.send(post("a", "Authorization: " + known + "\r\n"));
    EXPECT_THAT(knows.receive("x a"), StartsWith("HTTP/1.1 200"));
  }
}

TEST(HttpServer, SlowClientsAreLeft) {
  HttpOptions options;
  options.idle_timeout = options.body_timeout = std::chrono::seconds(1);
  const auto server = start(options);
  const Client silent(server->port());
  EXPECT_EQ(silent.receive(), "");
  const Client slow(server->port());
  slow.send("POST /x HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(slow.receive(), "");
}

TEST(HttpServer, ABodyMayTakeAsLongAsItsBytesComeFastEnough) {
  HttpOptions options;
  options.body_timeout = std::chrono::seconds(1);
  options.min_rate = 1000;
  const auto server = start(options);
  const auto answer_to = [&](int parts, size_t bytes) {
    const Client client(server->port());
    client.send("POST /x HTTP/1.1\r\nContent-Length: " + std::to_string(parts * bytes)
                + "\r\n\r\n");
    for (int i = 0; i < parts && !client.is_closed(); ++i) {
      client.send(std::string(bytes, 'a'));
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    }
    return client.receive("x a");
  };
  EXPECT_THAT(answer_to(10, 1000), StartsWith("HTTP/1.1 200"));  // two and a half seconds
  EXPECT_EQ(answer_to(30, 10), "");
}

TEST(HttpServer, LengthsThatAreOnlyClaimedTakeNoMemoryOfOthers) {
  HttpOptions options;
  options.max_body = options.max_body_bytes = 1000;
  const auto server = start(options);
  const Client claims(server->port());
  claims.send("POST /x HTTP/1.1\r\nContent-Length: 900\r\n\r\n");
  const Client client(server->port());
  client.send(post(std::string(300, 'b')));
  EXPECT_THAT(client.receive("bbb"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, AClientThatSendsTooMuchReadsWhy) {
  HttpOptions options;
  options.max_body = 100;
  const auto server = start(options);
  const Client client(server->port());
  // More than what sockets hold: it is sent only if the server reads it.
  client.send("POST /x HTTP/1.1\r\nContent-Length: 50000000\r\n\r\n");
  client.send(std::string(50000000, 'a'));
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 413"));
}

// Answers when it is told to.
class Held {
 public:
  RestHandler handler() {
    return [this](RestRequest request, Respond respond) {
      const std::lock_guard lock(mutex_);
      stop_ = request.stop;
      respond_ = std::move(respond);
      changed_.notify_all();
    };
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(10), [&] { return respond_ != nullptr; }));
  }
  bool is_cancelled() const {
    for (int i = 0; i < 1000 && !stop_.stop_requested(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return stop_.stop_requested();
  }
  void respond() { std::exchange(respond_, nullptr)({}); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_token stop_;
  Respond respond_;
};

TEST(HttpServer, AClientThatGoesAwayCancelsItsRequest) {
  Held held;
  const auto server = start({}, held.handler());
  Client client(server->port());
  client.send(post("a"));
  held.wait();
  client.close();
  EXPECT_TRUE(held.is_cancelled());
  held.respond();  // to nobody
}

TEST(HttpServer, AClientThatSentMoreAndGoesAwayCancelsItsRequest) {
  Held held;
  const auto server = start({}, held.handler());
  Client client(server->port());
  client.send(post("a") + post("b"));
  held.wait();
  client.close();
  EXPECT_TRUE(held.is_cancelled());
  held.respond();
}

TEST(HttpServer, StoppingWaitsForRequestsThatCame) {
  Held held;
  const auto server = start({}, held.handler());
  const Client client(server->port());
  client.send(post("a"));
  held.wait();
  std::thread stopper([&] { server->stop(std::chrono::seconds(10)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  held.respond();
  EXPECT_THAT(client.receive(), StartsWith("HTTP/1.1 200"));
  stopper.join();
}

TEST(HttpServer, AnAnswerAfterItsEndIsDropped) {
  Held held;
  auto server = start({}, held.handler());
  const Client client(server->port());
  client.send(post("a"));
  held.wait();
  server.reset();
  held.respond();
  EXPECT_EQ(client.receive(), "");
}

TEST(HttpServer, ManyConnectionsAreAnswered) {
  HttpOptions options;
  options.threads = 4;
  const auto server = start(options);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      const Client client(server->port());
      for (int i = 0; i < 200; ++i) {
        const std::string text = "number " + std::to_string(i) + ".";
        client.send(post(text));
        good += client.receive(text).find("200 OK") != std::string::npos;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 1600);
}

// Whatever clients do meanwhile, and whoever answers, it ends.
TEST(HttpServer, EndsAtAnyTime) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::mutex mutex;
    std::vector<std::thread> answers;
    auto server = start({}, [&](const RestRequest&, Respond respond) {
      const std::lock_guard lock(mutex);
      answers.emplace_back([respond = std::move(respond)] { respond({}); });
    });
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 4; ++i) {
      clients.push_back(std::make_unique<Client>(server->port()));
      const std::string whole = post("a") + post("b");
      clients.back()->send(whole.substr(0, random() % (whole.size() + 1)));
      if (random() % 4 == 0) clients.back()->close();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    server->stop(std::chrono::milliseconds(random() % 2));
    const std::lock_guard lock(mutex);
    for (std::thread& answer : answers) answer.join();
  }
}

TEST(HttpServer, LargeBodiesAndResponsesGoOver) {
  std::string body(20'000'000, ' ');
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  const auto server = start({});
  const Client client(server->port());
  std::thread sender([&] { client.send(post(body, "Connection: close\r\n")); });
  const std::string got = client.receive();
  sender.join();
  EXPECT_TRUE(got.ends_with("POST /x " + body));
}

TEST(HttpServer, WhereItCannotListenIsNamed) {
  HttpOptions options;
  options.address = "nowhere";
  EXPECT_THAT(HttpServer::start(options, echo).error(), HasSubstr("'nowhere'"));
  const auto server = start({});
  options.address = "127.0.0.1";
  options.port = server->port();
  EXPECT_THAT(HttpServer::start(options, echo).error(), HasSubstr("cannot listen on 127.0.0.1:"));
  options.address = "unix:/no/such/folder/socket";
  EXPECT_THAT(HttpServer::start(options, echo).error(), HasSubstr("/no/such/folder/socket"));
}

}  // namespace
}  // namespace tenon::server
