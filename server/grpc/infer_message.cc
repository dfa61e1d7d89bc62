#include "infer_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <string>

#include "model/tensor_memory.h"

namespace tenon::server {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// Of the encoding of protobuf: the lowest three bits of a tag.
enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

WireType wire_type(uint32_t tag) {
  return static_cast<WireType>(tag & 7);
}

class MessageReader {
 public:
  MessageReader(CodedInputStream& input, size_t bytes, size_t max_tensors)
      : input_(input), bytes_(bytes), max_tensors_(max_tensors) {}

  std::optional<InferMessage> read() {
    InferMessage made;
    std::string rest;
    {
      google::protobuf::io::StringOutputStream stream(&rest);
      CodedOutputStream output(&stream);
      while (const uint32_t tag = input_.ReadTag())
        if (!read_field(tag, made, output)) return std::nullopt;
    }
    made.message = std::make_shared<inference::ModelInferRequest>();
    if (!input_.ConsumedEntireMessage() || !made.message->ParseFromString(rest))
      return std::nullopt;
    return made;
  }

 private:
  using Request = inference::ModelInferRequest;

  bool read_field(uint32_t tag, InferMessage& made, CodedOutputStream& rest) {
    size_t* const count = count_of(tag, made);
    if (count != nullptr && ++*count > max_tensors_) return skip_bytes();
    return count == &made.raw_contents ? read_raw(made.raw) : copy(tag, rest);
  }

  // Of a field that a tensor is in; null for others.
  static size_t* count_of(uint32_t tag, InferMessage& made) {
    if (wire_type(tag) != WireType::kBytes) return nullptr;
    switch (tag >> 3) {
      case Request::kInputsFieldNumber:
        return &made.inputs;
      case Request::kOutputsFieldNumber:
        return &made.outputs;
      case Request::kRawInputContentsFieldNumber:
        return &made.raw_contents;
      default:
        return nullptr;
    }
  }

  // A length that is only claimed makes no memory.
  bool read_length(uint32_t& length) {
    return input_.ReadVarint32(&length)
           && length <= bytes_ - static_cast<size_t>(input_.CurrentPosition());
  }

  bool skip_bytes() {
    uint32_t length = 0;
    return read_length(length) && input_.Skip(static_cast<int>(length));
  }

  bool read_raw(std::vector<RawContents>& raw) {
    uint32_t length = 0;
    if (!read_length(length)) return false;
    raw.push_back({heap_memory(length), length});
    return input_.ReadRaw(raw.back().data.get(), static_cast<int>(length));
  }

  // A field of what is small.
  bool copy(uint32_t tag, CodedOutputStream& to) {
    to.WriteTag(tag);
    uint64_t number = 0;
    uint32_t word = 0;
    switch (wire_type(tag)) {
      case WireType::kVarint:
        if (!input_.ReadVarint64(&number)) return false;
        to.WriteVarint64(number);
        return true;
      case WireType::kFixed64:
        if (!input_.ReadLittleEndian64(&number)) return false;
        to.WriteLittleEndian64(number);
        return true;
      case WireType::kFixed32:
        if (!input_.ReadLittleEndian32(&word)) return false;
        to.WriteLittleEndian32(word);
        return true;
      case WireType::kBytes:
        if (!read_length(word)) return false;
        to.WriteVarint32(word);
        return copy_bytes(word, to);
    }
    return false;  // a group, which proto3 does not have
  }

  bool copy_bytes(size_t bytes, CodedOutputStream& to) {
    while (bytes > 0) {
      const void* data = nullptr;
      int there = 0;
      if (!input_.GetDirectBufferPointer(&data, &there)) return false;
      const int part = static_cast<int>(std::min<size_t>(bytes, static_cast<size_t>(there)));
      to.WriteRaw(data, part);
      if (!input_.Skip(part)) return false;
      bytes -= static_cast<size_t>(part);
    }
    return true;
  }

  CodedInputStream& input_;
  const size_t bytes_;  // of the whole message
  const size_t max_tensors_;
};

}  // namespace

std::optional<InferMessage> read_infer_message(grpc::ByteBuffer& bytes, size_t max_tensors) {
  const size_t length = bytes.Length();
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return std::nullopt;
  CodedInputStream input(&reader);
  return MessageReader(input, length, max_tensors).read();
}

}  // namespace tenon::server
