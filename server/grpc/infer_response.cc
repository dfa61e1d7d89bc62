#include "infer_response.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <tenon/printable.h>

#include <limits>
#include <memory>

#include "guard.h"
#include "inference.grpc.pb.h"
#include "model/classification.h"
#include "model/datatype.h"
#include "short_text.h"

namespace tenon::server {
namespace {

using google::protobuf::RepeatedField;
using Messages = inference::ModelInferResponse;
using google::protobuf::io::CodedOutputStream;

// What protobuf writes in front of a field of bytes.
grpc::Slice field_head(int number, size_t bytes) {
  uint8_t head[20];
  uint8_t* end =
      CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(number) << 3 | 2, head);
  end = CodedOutputStream::WriteVarint64ToArray(bytes, end);
  return {head, static_cast<size_t>(end - head)};
}

template <class From, class To> void append(Tensor& tensor, RepeatedField<To>& to) {
  const From* from = session::value_of(tensor.cpu<From>());
  to.Add(from, from + tensor.numel());
}

void append_contents(OutputTensor& output, inference::InferTensorContents& to) {
  Tensor& tensor = output.tensor;
  if (tensor.empty()) return;
  if (output.of_strings) {
    for (const std::string_view element : bytes_elements(tensor)) {
      to.add_bytes_contents(element.data(), element.size());
    }
    return;
  }
  switch (tensor.type()) {
    case DataType::kFLOAT:
      return append<float>(tensor, *to.mutable_fp32_contents());
    case DataType::kINT32:
      return append<int32_t>(tensor, *to.mutable_int_contents());
    case DataType::kINT64:
      return append<int64_t>(tensor, *to.mutable_int64_contents());
    case DataType::kBOOL:
      return append<bool>(tensor, *to.mutable_bool_contents());
    case DataType::kINT8:
      return append<int8_t>(tensor, *to.mutable_int_contents());
    case DataType::kUINT8:
      return append<uint8_t>(tensor, *to.mutable_uint_contents());
    default:
      throw Error{
          fmt::format("output '{}' is {}, which has raw_output_contents only; leave out "
                      "the parameter 'binary_data_output'",
                      printable(output.name), datatype_name(tensor.type()))};
  }
}

void describe(const OutputTensor& output, Messages::InferOutputTensor& to) {
  to.set_name(output.name);
  to.set_datatype(std::string(output.datatype()));
  to.mutable_shape()->Add(output.shape().begin(), output.shape().end());
  if (!output.part) return;
  auto& parameters = *to.mutable_parameters();
  parameters["shared_memory_region"].set_string_param(output.part->region);
  parameters["shared_memory_offset"].set_int64_param(static_cast<int64_t>(output.part->offset));
  parameters["shared_memory_byte_size"].set_int64_param(static_cast<int64_t>(output.part->bytes));
}

EncodedResponse encode(const std::shared_ptr<OutputResponse>& response, bool typed_outputs) {
  Messages message;
  message.set_model_name(response->model);
  message.set_model_version(response->version);
  message.set_id(response->id);
  for (OutputTensor& output : response->outputs) {
    auto& to = *message.add_outputs();
    describe(output, to);
    if (typed_outputs && !output.part) append_contents(output, *to.mutable_contents());
  }
  EncodedResponse encoded;
  const auto add = [&encoded](grpc::Slice slice) {
    encoded.bytes += slice.size();
    encoded.slices.push_back(std::move(slice));
  };
  add(grpc::Slice(message.SerializeAsString()));
  if (typed_outputs) return encoded;
  for (OutputTensor& output : response->outputs) {
    // What is in shared memory has an empty entry: clients count them.
    const size_t bytes = output.part ? 0 : output.tensor.bytes();
    add(field_head(Messages::kRawOutputContentsFieldNumber, bytes));
    if (bytes == 0) continue;
    void* data = session::value_of(output.tensor.cpu());
    add(grpc::Slice(
        data, bytes,
        [](void* owner) { delete static_cast<std::shared_ptr<OutputResponse>*>(owner); },
        new std::shared_ptr<OutputResponse>(response)));
  }
  return encoded;
}

}  // namespace

grpc::ByteBuffer EncodedResponse::stream_message() const {
  std::vector<grpc::Slice> all = {
      field_head(inference::ModelStreamInferResponse::kInferResponseFieldNumber, bytes)};
  all.insert(all.end(), slices.begin(), slices.end());
  return {all.data(), all.size()};
}

std::variant<EncodedResponse, RequestError> encode_response(OutputResponse response,
                                                            bool typed_outputs) {
  const auto model = response.model;
  try {
    auto encoded = encode(std::make_shared<OutputResponse>(std::move(response)), typed_outputs);
    // A stream's message is a few bytes longer.
    if (constexpr size_t kMax = std::numeric_limits<int32_t>::max() - 64; encoded.bytes > kMax) {
      throw Error{
          fmt::format("the response is {} bytes, and a message holds {}; ask for fewer "
                      "outputs or a smaller batch",
                      encoded.bytes, kMax)};
    }
    return encoded;
  } catch (Error& error) {
    return RequestError{Failure::kInvalid, model + ": " + error.text};
  }
}

grpc::ByteBuffer stream_error(const std::string& text, const std::string& id) {
  inference::ModelStreamInferResponse message;
  message.set_error_message(short_text(text));
  message.mutable_infer_response()->set_id(id);
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

}  // namespace tenon::server
