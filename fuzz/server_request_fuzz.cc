// Feeds bodies of inference requests to the server's reader: JSON with tensors in binary behind it,
// of a length that the first two bytes say. It may refuse them with an error, and nothing else.
// What it accepts is read to the last element.
#include <cstdint>
#include <memory>

#include "http/json_infer.h"
#include "read_tensors.h"

using namespace tenon::server;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t binary = data[0] | static_cast<size_t>(data[1]) << 8;
  const auto body = std::make_shared<Body>(data + 2, data + size);
  const std::string json_length =
      binary == 0 || binary > body->size() ? "" : std::to_string(body->size() - binary);
  auto parsed = parse_infer_request(body, json_length);
  if (parsed) read_tensors(parsed->request);
  return 0;
}
