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
  /// How many came. Those beyond the limit of each kind are left out of `message` and `raw`.
  size_t inputs = 0, outputs = 0, raw_contents = 0;
};

/// Nothing for bytes that are no ModelInferRequest. Throws std::bad_alloc.
/// @param max_tensors of inputs, of outputs and of raw contents. One that is empty has two bytes in
///     a message, and a hundred when it is read.
std::optional<InferMessage> read_infer_message(grpc::ByteBuffer& bytes, size_t max_tensors);

}  // namespace tenon::server
