#include "grpc_server.h"

#include <grpcpp/generic/generic_stub.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include "health.grpc.pb.h"
#include "test_certificates.h"
#include "test_client.h"

namespace tenon::server {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;

class GrpcServerTest : public GrpcTest {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir())
              / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }

  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }

  // Of a server with the certificate of "ours".
  GrpcOptions tls_options() const {
    GrpcOptions options = GrpcTest::options();
    options.tls.certificate = path("ours_leaf.pem");
    options.tls.key = path("ours_leaf.key");
    return options;
  }

  std::shared_ptr<grpc::ChannelCredentials> client_credentials(const std::string& authority,
                                                               const std::string& own = "") const {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = read(authority + ".pem");
    if (!own.empty()) {
      tls.pem_private_key = read(own + "_leaf.key");
      tls.pem_cert_chain = read(own + "_leaf.pem");
    }
    return grpc::SslCredentials(tls);
  }

  std::string error_of(const GrpcOptions& options) {
    const auto started = GrpcServer::start(models_, options);
    return started ? "none" : started.error();
  }

  grpc::Status infer_with(const std::string& authorization) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", authorization);
    return stub_->ModelInfer(&context, row_of(1), &response_);
  }

  /// What grpc.health.v1 says: 1 for SERVING, 2 for NOT_SERVING; 0 where it does not answer.
  int health() {
    grpc::GenericStub generic(channel_);
    grpc::ClientContext context;
    const grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    generic.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                      [&](grpc::Status status) { done.set_value(std::move(status)); });
    if (!done.get_future().get().ok()) return 0;
    grpc::Slice slice;
    EXPECT_TRUE(response.DumpToSingleSlice(&slice).ok());
    EXPECT_EQ(slice.size(), 2u);  // field 1, an enumerator
    return slice.begin()[1];
  }

  bool becomes(int expected) {
    for (int i = 0; i < 100; ++i) {
      if (health() == expected) return true;
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  }

  std::filesystem::path folder_;
};

TEST_F(GrpcServerTest, ServesOverAUnixSocket) {
  GrpcOptions options = GrpcTest::options();
  options.address = "unix:" + path("socket");
  start(options);
  EXPECT_EQ(server_->port(), 0);
  channel_ = grpc::CreateChannel(options.address, grpc::InsecureChannelCredentials());
  stub_ = inference::GRPCInferenceService::NewStub(channel_);
  EXPECT_TRUE(infer(row_of(1)).ok());
}

TEST_F(GrpcServerTest, AnAddressIsForOneServer) {
  start();
  GrpcOptions options = GrpcTest::options();
  options.address = fmt::format("127.0.0.1:{}", server_->port());
  EXPECT_EQ(error_of(options),
            "cannot listen on " + options.address
                + "; expected HOST:PORT or unix:PATH that nobody listens on, and matching files of "
                  "TLS");
  options.address = "nonsense:port";
  EXPECT_NE(error_of(options), "none");
}

TEST_F(GrpcServerTest, HealthFollowsTheModels) {
  models_.set_ready(false);
  start();
  EXPECT_TRUE(becomes(2));
  models_.set_ready(true);
  EXPECT_TRUE(becomes(1));
  models_.set_ready(false);
  EXPECT_TRUE(becomes(2));
}

TEST_F(GrpcServerTest, WhoWatchesHealthIsToldWhatChanges) {
  start();
  grpc::ClientContext context;
  auto watch = grpc::health::v1::Health::NewStub(channel_)->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse health;
  for (const bool is_ready : {true, false, true}) {
    models_.set_ready(is_ready);
    ASSERT_TRUE(watch->Read(&health));
    EXPECT_EQ(health.status(), is_ready ? health.SERVING : health.NOT_SERVING);
  }
  std::thread stopper([&] { server_->stop(std::chrono::seconds(30)); });
  EXPECT_FALSE(watch->Read(&health));  // so that it does not hold up the end
  stopper.join();
}

TEST_F(GrpcServerTest, HealthIsOfTheWholeServer) {
  start();
  const auto stub = grpc::health::v1::Health::NewStub(channel_);
  grpc::health::v1::HealthCheckRequest request;
  request.set_service("another");
  grpc::health::v1::HealthCheckResponse health;
  grpc::ClientContext check_context, watch_context;
  expect(stub->Check(&check_context, request, &health), StatusCode::NOT_FOUND,
         "expected the service ''");
  const auto watch = stub->Watch(&watch_context, request);
  ASSERT_TRUE(watch->Read(&health));
  EXPECT_EQ(health.status(), health.SERVICE_UNKNOWN);
}

TEST_F(GrpcServerTest, SeveralThreadsTakeRequests) {
  GrpcOptions options = GrpcTest::options();
  options.threads = 3;
  start(options);
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      for (int call = 0; call < 50; ++call) {
        grpc::ClientContext context;
        inference::ModelInferResponse response;
        ASSERT_TRUE(stub_->ModelInfer(&context, row_of(1), &response).ok());
      }
    });
  for (std::thread& client : clients) client.join();
}

TEST_F(GrpcServerTest, StoppingAnswersWhatRuns) {
  start();
  models_.switches().hold(true);
  std::thread client([&] { EXPECT_TRUE(infer(row_of(1)).ok()); });
  ASSERT_TRUE(models_.switches().wait_for_waiting(1));
  std::thread stopper([&] { server_->stop(std::chrono::seconds(30)); });
  std::this_thread::sleep_for(milliseconds(50));
  models_.switches().hold(false);
  stopper.join();
  client.join();
  EXPECT_EQ(infer(row_of(1)).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(GrpcServerTest, StoppingCancelsWhatTakesLonger) {
  start();
  models_.switches().hold(true);
  std::thread client([&] { EXPECT_FALSE(infer(row_of(1)).ok()); });
  ASSERT_TRUE(models_.switches().wait_for_waiting(1));
  server_->stop(milliseconds(50));
  EXPECT_TRUE(models_.switches().wait_for_waiting(0));
  client.join();
}

TEST_F(GrpcServerTest, CallsNeedTheToken) {
  GrpcOptions options = GrpcTest::options();
  options.token = "s3cret";
  start(options);
  expect(infer(row_of(1)), StatusCode::UNAUTHENTICATED,
         "the metadata 'authorization' is missing; expected 'Bearer ' and the server's token");
  for (const char* wrong :
       {"Bearer s3cre", "Bearer s3cret!", "Bearer ", "Bearer", "s3cret", "Basic s3cret", ""}) {
    expect(infer_with(wrong), StatusCode::UNAUTHENTICATED,
           "the metadata 'authorization' is not 'Bearer ' and the server's token");
  }
  EXPECT_EQ(models_.switches().count(), 0u);
  EXPECT_TRUE(infer_with("Bearer s3cret").ok());
  EXPECT_TRUE(infer_with("bearer s3cret").ok());

  grpc::ClientContext live_context, stream_context;
  inference::ServerLiveResponse live;
  EXPECT_EQ(stub_->ServerLive(&live_context, {}, &live).error_code(), StatusCode::UNAUTHENTICATED);
  const auto stream = stub_->ModelStreamInfer(&stream_context);
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(becomes(1));  // health needs none
}

TEST_F(GrpcServerTest, ClientsCannotFillTheLog) {
  start();
  testing::internal::CaptureStderr();
  EXPECT_FALSE(infer(request_for("\xff", "FP32", {1, 4}, std::string(16, '\0'))).ok());
  make_certificates(folder_, "ours");
  GrpcOptions options = tls_options();
  options.tls.authorities = path("ours.pem");
  start(options);
  stub_ = connect(client_credentials("ours"));
  EXPECT_EQ(infer(row_of(1)).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(GrpcServerTest, SpeaksTls) {
  make_certificates(folder_, "ours");
  make_certificates(folder_, "others");
  GrpcOptions options = tls_options();
  start(options);
  EXPECT_EQ(infer(row_of(1)).error_code(), StatusCode::UNAVAILABLE);  // without TLS
  stub_ = connect(client_credentials("others"));
  EXPECT_EQ(infer(row_of(1)).error_code(), StatusCode::UNAVAILABLE);
  stub_ = connect(client_credentials("ours"));
  EXPECT_TRUE(infer(row_of(1)).ok());
}

TEST_F(GrpcServerTest, WantsCertificatesOfClients) {
  make_certificates(folder_, "ours");
  make_certificates(folder_, "others");
  GrpcOptions options = tls_options();
  options.tls.authorities = path("ours.pem");
  start(options);
  stub_ = connect(client_credentials("ours"));
  EXPECT_EQ(infer(row_of(1)).error_code(), StatusCode::UNAVAILABLE);
  stub_ = connect(client_credentials("ours", "others"));
  EXPECT_EQ(infer(row_of(1)).error_code(), StatusCode::UNAVAILABLE);
  stub_ = connect(client_credentials("ours", "ours"));
  EXPECT_TRUE(infer(row_of(1)).ok());
}

TEST_F(GrpcServerTest, FilesOfTlsThatDoNotServeAreNamed) {
  GrpcOptions options = GrpcTest::options();
  options.tls.certificate = path("absent.pem");
  EXPECT_EQ(error_of(options), "a certificate and a key go together; found only the certificate");
  options.tls.key = path("absent.key");
  EXPECT_EQ(error_of(options), "cannot read the key, " + path("absent.key"));
  std::ofstream(path("absent.key")) << "no key";
  EXPECT_EQ(error_of(options), "the key, " + path("absent.key") + ", is no PEM file");
  options = GrpcTest::options();
  options.tls.authorities = path("ours.pem");
  EXPECT_EQ(error_of(options),
            "certificates of clients are checked with TLS; expected a certificate and a key of the "
            "server, too");
}

TEST_F(GrpcServerTest, OptionsAreChecked) {
  GrpcOptions options = GrpcTest::options();
  options.max_message_bytes = size_t{1} << 31;
  EXPECT_EQ(error_of(options), "max_message_bytes: expected 1 to 2147483647, found 2147483648");
  options = GrpcTest::options();
  options.threads = 0;
  EXPECT_EQ(error_of(options), "threads: expected 1 to 256, found 0");
  options = GrpcTest::options();
  options.max_stream_requests = 0;
  EXPECT_EQ(error_of(options),
            "max_tensors, max_stream_requests and max_connection_calls: expected 1 or more");
  options = GrpcTest::options();
  options.token = "two words";
  EXPECT_EQ(error_of(options), "the token: expected printable ASCII characters without spaces");
}

}  // namespace
}  // namespace tenon::server
