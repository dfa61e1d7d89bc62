#include "tls_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <filesystem>
#include <fstream>

#include "http_server.h"
#include "test_certificates.h"

namespace tenon::server {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using boost::system::error_code;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kRequest = "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

class Tls : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    make_certificates(folder_, "ours");
    options_.address = "127.0.0.1";
    options_.tls.certificate = path("ours_leaf.pem");
    options_.tls.key = path("ours_leaf.key");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  void start() {
    auto server = HttpServer::start(options_, [](const RestRequest& request, Respond respond) {
      RestResponse response;
      response.text = request.method + " " + request.target;
      respond(std::move(response));
    });
    ASSERT_TRUE(server) << server.error();
    server_ = *std::move(server);
  }

  // What a client gets that trusts the authority, and has a certificate, if `own` is one.
  std::string ask(const std::string& authority, const std::string& own = "") {
    ssl::context context(ssl::context::tls_client);
    context.load_verify_file(path(authority + ".pem"));
    context.set_verify_mode(ssl::verify_peer);
    if (!own.empty()) {
      context.use_certificate_chain_file(path(own + "_leaf.pem"));
      context.use_private_key_file(path(own + "_leaf.key"), ssl::context::pem);
    }
    ssl::stream<asio::ip::tcp::socket> stream(io_, context);
    connect(stream.next_layer());
    error_code error;
    stream.handshake(ssl::stream_base::client, error);
    if (error) return "handshake: " + error.message();
    asio::write(stream, asio::buffer(std::string_view(kRequest)), error);
    std::string got;
    asio::read(stream, asio::dynamic_buffer(got), error);
    return got.empty() ? "nothing: " + error.message() : got;
  }

  // What comes until the server closes, of bytes that are no TLS.
  std::string ask_plainly(const std::string& bytes) {
    asio::ip::tcp::socket socket(io_);
    connect(socket);
    error_code error;
    asio::write(socket, asio::buffer(bytes), error);
    std::string got;
    asio::read(socket, asio::dynamic_buffer(got), error);
    return got;
  }

  std::string error() const {
    const auto started = HttpServer::start(options_, {});
    return started ? "none" : started.error();
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("tls." + std::to_string(getpid()));
  HttpOptions options_;
  std::unique_ptr<HttpServer> server_;

 private:
  void connect(asio::ip::tcp::socket& socket) {
    socket.connect({asio::ip::address_v4::loopback(), server_->port()});
  }
  asio::io_context io_;
};

TEST_F(Tls, AnswersThoseThatTrustTheCertificate) {
  make_certificates(folder_, "others");
  start();
  const std::string got = ask("ours");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(got, HasSubstr("GET /x"));
  EXPECT_THAT(ask("others"), StartsWith("handshake: "));
}

TEST_F(Tls, WantsCertificatesOfClientsWhereThereAreAuthorities) {
  make_certificates(folder_, "others");
  options_.tls.authorities = path("ours.pem");
  start();
  EXPECT_THAT(ask("ours", "ours"), StartsWith("HTTP/1.1 200 OK"));
  // With TLS 1.3 a client knows only when it reads.
  EXPECT_THAT(ask("ours"), Not(HasSubstr("200 OK")));
  EXPECT_THAT(ask("ours", "others"), Not(HasSubstr("200 OK")));
}

TEST_F(Tls, SaysThatItIsTlsToThoseThatDoNotSpeakIt) {
  start();
  EXPECT_THAT(ask_plainly(kRequest), HasSubstr("speaks TLS"));
  EXPECT_THAT(ask_plainly("nonsense, and no TLS at all\r\n\r\n"), Not(HasSubstr("200 OK")));
  EXPECT_THAT(ask("ours"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(Tls, HandshakesThatDoNotEndAreLeft) {
  options_.header_timeout = std::chrono::seconds(1);
  start();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ask_plainly(""), "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST_F(Tls, FilesThatDoNotServeAreNamed) {
  make_certificates(folder_, "others");
  options_.tls.key = path("others_leaf.key");
  EXPECT_THAT(error(), HasSubstr("the key, " + options_.tls.key + ", does not serve: "));
  options_.tls.key = path("absent.key");
  EXPECT_EQ(error(), "cannot read the key, " + path("absent.key"));
  std::ofstream(path("absent.key")) << "-----BEGIN PRIVATE KEY-----\nnonsense\n";
  EXPECT_THAT(error(), HasSubstr("absent.key, does not serve: "));
  options_.tls.key.clear();
  EXPECT_THAT(error(), HasSubstr("found only the certificate"));
}

}  // namespace
}  // namespace tenon::server
