// Feeds messages of inference calls to the server's reader, in slices of a size that the first byte
// says. It may refuse them with an error, and nothing else. What it accepts is read to the last
// element.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <vector>

#include "grpc/infer_request.h"
#include "read_tensors.h"

using namespace tenon::server;

// As the server does: protobuf would write a line for each text that is no UTF-8.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const size_t part = data[0] + size_t{1};
  std::vector<grpc::Slice> slices;
  for (size_t at = 1; at < size; at += part)
    slices.emplace_back(data + at, std::min(part, size - at));
  grpc::ByteBuffer bytes(slices.data(), slices.size());
  constexpr size_t kMaxTensors = 256;
  auto message = read_infer_message(bytes, kMaxTensors);
  if (!message) return 0;
  auto decoded = decode_request(*std::move(message), kMaxTensors);
  if (auto* request = std::get_if<DecodedRequest>(&decoded)) read_tensors(request->request);
  return 0;
}
