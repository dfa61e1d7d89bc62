// A request of inference as it came.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "inference.grpc.pb.h"

namespace tenon::server {

struct RawContents {
  std::shared_ptr<std::byte> data;  ///< aligned as heap_memory()
  size_t bytes = 0;
};

struct InferMessage {
  /// Without raw_input_contents.
  std::shared_ptr<inference::ModelInferRequest> message;
  /// In their order: protobuf's own strings are neither aligned nor in huge pages.
  std::vector<RawContents> raw;
};

/// Nothing for bytes that are no ModelInferRequest. Throws std::bad_alloc.
std::optional<InferMessage> read_infer_message(grpc::ByteBuffer& bytes);

}  // namespace tenon::server
