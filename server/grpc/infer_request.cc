#include "infer_request.h"

#include <fmt/format.h>
#include <tenon/printable.h>

#include <algorithm>
#include <limits>

#include "model/datatype.h"
#include "model/request_limits.h"
#include "model/tensor_memory.h"

namespace tenon::server {
namespace {

using inference::InferTensorContents;
using Message = std::shared_ptr<inference::ModelInferRequest>;
using Input = inference::ModelInferRequest::InferInputTensor;
using google::protobuf::RepeatedField;
using ParameterMap = google::protobuf::Map<std::string, inference::InferParameter>;

// An input while it is read.
struct Reader {
  const Message& message;
  Input& input;
  std::string name;  // for errors
  Shape shape;
  DataType type;
  size_t bytes = 0;

  Tensor raw(const RawContents& from, size_t index) const {
    if (input.has_contents()) {
      throw Error{name + " has contents and an entry of raw_input_contents; expected one of both"};
    }
    if (from.bytes != bytes) {
      throw Error{fmt::format("{}: {} of {} is {} bytes; found {} in raw_input_contents[{}]", name,
                              session::shape_text(shape), input.datatype(), bytes, from.bytes,
                              index)};
    }
    return tensor_over(shape, type, from.data.get(), from.data);
  }

  void check_count(int count, const char* field) const {
    const size_t elements = bytes / session::element_size(type);
    if (static_cast<size_t>(count) == elements) return;
    throw Error{fmt::format("{}: {} of {} is {} elements; found {} in {}", name,
                            session::shape_text(shape), input.datatype(), elements, count, field)};
  }

  template <class T> Tensor in_place(RepeatedField<T>& from, const char* field) const {
    check_count(from.size(), field);
    return tensor_over(shape, type, from.mutable_data(), message);
  }

  template <class To, class From>
  Tensor as_bytes(const RepeatedField<From>& from, const char* field) const {
    check_count(from.size(), field);
    Tensor tensor = heap_tensor(shape, type);
    auto to = tensor.cpu<To>();
    if (!to) throw Error{name + ": " + to.error()};
    for (int i = 0; i < from.size(); ++i) {
      using Limits = std::numeric_limits<To>;
      if (std::cmp_less(from[i], Limits::min()) || std::cmp_greater(from[i], Limits::max())) {
        throw Error{fmt::format("{}: {}[{}] is {}; expected {} to {} for {}", name, field, i,
                                from[i], int{Limits::min()}, int{Limits::max()}, input.datatype())};
      }
      (*to)[i] = static_cast<To>(from[i]);
    }
    return tensor;
  }

  Tensor typed() const {
    InferTensorContents& contents = *input.mutable_contents();
    switch (type) {
      case DataType::kFLOAT:
        return in_place(*contents.mutable_fp32_contents(), "fp32_contents");
      case DataType::kINT32:
        return in_place(*contents.mutable_int_contents(), "int_contents");
      case DataType::kINT64:
        return in_place(*contents.mutable_int64_contents(), "int64_contents");
      case DataType::kBOOL:
        return in_place(*contents.mutable_bool_contents(), "bool_contents");
      case DataType::kINT8:
        return as_bytes<int8_t>(contents.int_contents(), "int_contents");
      case DataType::kUINT8:
        return as_bytes<uint8_t>(contents.uint_contents(), "uint_contents");
      default:
        throw Error{fmt::format("{}: elements of {} are taken in raw_input_contents only", name,
                                input.datatype())};
    }
  }
};

std::string label_of(const char* kind, const std::string& name) {
  return fmt::format("{} '{}'", kind, printable(name));
}

Shape shape_of(const Input& input, const std::string& name) {
  if (input.shape_size() > nvinfer1::Dims::MAX_DIMS) {
    throw Error{fmt::format("{}: the shape has {} extents; expected at most {}", name,
                            input.shape_size(), int{nvinfer1::Dims::MAX_DIMS})};
  }
  return Shape(input.shape().begin(), input.shape().end());
}

Reader reader_of(const Message& message, Input& input) {
  const std::string name = label_of("input", input.name());
  const auto type = datatype_of(input.datatype());
  if (!type) {
    throw Error{
        fmt::format("{}: datatype '{}' is not supported; expected FP32, FP16, BF16, INT8, "
                    "UINT8, INT32, INT64 or BOOL",
                    name, printable(input.datatype()))};
  }
  Reader reader{message, input, name, shape_of(input, name), *type};
  try {
    reader.bytes = tensor_bytes(reader.shape, *type);
  } catch (const Error& cause) {
    throw Error{name + ": " + cause.text};
  }
  return reader;
}

// 0 where it is not given.
int64_t integer(const ParameterMap& parameters, const char* name, int64_t max) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return 0;
  const inference::InferParameter& value = found->second;
  const bool is_signed = value.has_int64_param() && value.int64_param() >= 0;
  const uint64_t number =
      is_signed ? static_cast<uint64_t>(value.int64_param()) : value.uint64_param();
  if ((is_signed || value.has_uint64_param()) && std::cmp_less_equal(number, max)) {
    return static_cast<int64_t>(number);
  }
  throw Error{fmt::format("parameter '{}': expected 0 to {}, found {}", name, max,
                          printable(value.ShortDebugString()))};
}

size_t size(const ParameterMap& parameters, const char* name) {
  return static_cast<size_t>(integer(parameters, name, std::numeric_limits<int64_t>::max()));
}

// Where in shared memory a tensor is to be found, or put.
std::optional<RegionPart> part_of(const ParameterMap& parameters) {
  const auto region = parameters.find("shared_memory_region");
  if (region == parameters.end()) return std::nullopt;
  if (!region->second.has_string_param()) {
    throw Error{"parameter 'shared_memory_region': expected a string, found "
                + printable(region->second.ShortDebugString())};
  }
  return RegionPart{region->second.string_param(), size(parameters, "shared_memory_offset"),
                    size(parameters, "shared_memory_byte_size")};
}

bool flag(const ParameterMap& parameters, const std::string& name, bool otherwise) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return otherwise;
  if (found->second.has_bool_param()) return found->second.bool_param();
  throw Error{"parameter '" + name + "': expected a bool, found "
              + printable(found->second.ShortDebugString())};
}

SequencePlace sequence_place(const ParameterMap& parameters) {
  SequencePlace place;
  if (const auto found = parameters.find("sequence_id"); found != parameters.end()) {
    if (found->second.has_string_param())
      place.id = found->second.string_param();
    else
      place.id = static_cast<uint64_t>(
          integer(parameters, "sequence_id", std::numeric_limits<int64_t>::max()));
  }
  place.is_start = flag(parameters, "sequence_start", false);
  place.is_end = flag(parameters, "sequence_end", false);
  return place;
}

void read_parameters(const ParameterMap& parameters, DecodedRequest& to) {
  to.request.sequence = sequence_place(parameters);
  set_timeout(to.request, integer(parameters, "timeout", kMaxTimeout));
  set_priority(to.request, integer(parameters, "priority", kMaxPriority));
  to.typed_outputs = !flag(parameters, "binary_data_output", true);
}

void check_tensors(const char* kind, size_t count, size_t max) {
  if (count <= max) return;
  throw Error{fmt::format("the request has {} {}; expected at most {}", count, kind, max)};
}

// Raw contents are of the inputs that have neither contents nor a part of shared memory.
void read_inputs(const InferMessage& whole, DecodedRequest& to) {
  const Message& message = whole.message;
  const std::vector<RawContents>& raw = whole.raw;
  std::vector<std::optional<RegionPart>> parts;
  size_t in_message = 0;
  for (const Input& input : message->inputs()) {
    try {
      parts.push_back(part_of(input.parameters()));
    } catch (const Error& cause) {
      throw Error{label_of("input", input.name()) + ": " + cause.text};
    }
    if (!parts.back()) ++in_message;
  }
  if (!raw.empty() && raw.size() != in_message) {
    throw Error{
        fmt::format("raw_input_contents: expected {}, one for each input that is not in "
                    "shared memory, found {}",
                    in_message, raw.size())};
  }
  size_t next = 0;
  for (int i = 0; i < message->inputs_size(); ++i) {
    const Reader reader = reader_of(message, *message->mutable_inputs(i));
    auto& part = parts[static_cast<size_t>(i)];
    if (part && reader.input.has_contents()) {
      throw Error{reader.name + " has contents, and is in shared memory; expected one of both"};
    }
    if (part) {
      to.wanted.inputs[to.request.inputs.size()] = *std::move(part);
      to.request.inputs.push_back({reader.input.name(), Tensor(reader.shape, reader.type)});
    } else if (raw.empty()) {
      to.request.inputs.push_back({reader.input.name(), reader.typed()});
    } else {
      to.request.inputs.push_back({reader.input.name(), reader.raw(raw[next], next)});
      ++next;
    }
  }
}

DecodedRequest decode(const InferMessage& whole, size_t max_tensors) {
  const Message& message = whole.message;
  DecodedRequest decoded{message->model_name(), message->model_version(), {}};
  decoded.request.id = message->id();
  check_tensors("inputs", whole.inputs, max_tensors);
  check_tensors("outputs", whole.outputs, max_tensors);
  check_tensors("raw_input_contents", whole.raw_contents, max_tensors);
  read_parameters(message->parameters(), decoded);
  read_inputs(whole, decoded);
  for (const auto& output : message->outputs()) {
    RequestedOutput wanted;
    try {
      wanted = {size(output.parameters(), "classification"), part_of(output.parameters())};
    } catch (const Error& cause) {
      throw Error{label_of("output", output.name()) + ": " + cause.text};
    }
    if (wanted.classes > 0 || wanted.part)
      decoded.wanted.outputs[output.name()] = std::move(wanted);
    decoded.request.outputs.push_back(output.name());
  }
  return decoded;
}

}  // namespace

std::variant<DecodedRequest, RequestError> decode_request(InferMessage message,
                                                          size_t max_tensors) {
  try {
    return decode(message, max_tensors);
  } catch (Error& error) {
    return RequestError{Failure::kInvalid, std::move(error.text)};
  }
}

}  // namespace tenon::server
