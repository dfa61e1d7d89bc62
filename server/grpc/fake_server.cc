// Serves made-up models over gRPC until its input ends, for clients in other languages.
#include <cstdio>

#include "grpc_server.h"
#include "model/fake_models.h"

int main() {
  using namespace tenon::server;
  FakeModels models;
  GrpcOptions options;
  options.address = "127.0.0.1:0";
  options.allows_model_control = true;
  const auto server = GrpcServer::start(models, options);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().c_str());
    return 1;
  }
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {}
}
