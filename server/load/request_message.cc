#include "request_message.h"

#include <tenon/printable.h>
#include <tenon/session/result.h>

#include <charconv>
#include <climits>
#include <string_view>
#include <utility>

#include "http_url.h"
#include "inference.pb.h"

namespace tenon::load {
namespace {

using nlohmann::json;
using nvinfer1::DataType;
using session::Array;
using session::Error;

template <class T> json list_of(const Array& array) {
  const T* const elements = array.as<T>();
  return std::vector<T>(elements, elements + array.count());
}

json elements_of(const NamedInput& input) {
  const Array& array = input.array;
  switch (array.type) {
    case DataType::kFLOAT:
      return list_of<float>(array);
    case DataType::kINT32:
      return list_of<int32_t>(array);
    case DataType::kINT64:
      return list_of<int64_t>(array);
    case DataType::kINT8:
      return list_of<int8_t>(array);
    case DataType::kUINT8:
      return list_of<uint8_t>(array);
    case DataType::kBOOL: {
      json list = json::array();
      for (const std::byte element : array.bytes) list.push_back(element != std::byte{});
      return list;
    }
    default:
      throw Error{"input '" + printable(input.name) + "' is of " + input.datatype
                  + ", which JSON does not have: expected --input-tensor-format=binary"};
  }
}

std::string_view bytes_of(const Array& array) {
  return {reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()};
}

}  // namespace

std::pair<std::string, json> parse_parameter(const std::string& text) {
  const size_t type = text.rfind(':');
  const size_t value =
      type == std::string::npos || type == 0 ? std::string::npos : text.rfind(':', type - 1);
  const auto refuse = [&] {
    throw Error{"--request-parameter: expected NAME:VALUE:int, bool or string, found '"
                + printable(text) + "'"};
  };
  if (value == std::string::npos || value == 0) refuse();
  const std::string name = text.substr(0, value), of_type = text.substr(type + 1),
                    digits = text.substr(value + 1, type - value - 1);
  if (of_type == "string") return {name, digits};
  if (of_type == "bool" && (digits == "true" || digits == "false")) return {name, digits == "true"};
  int64_t number = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  if (of_type != "int" || error != std::errc() || end != last) refuse();
  return {name, number};
}

HttpMessage http_message(const ModelDescription& model, const std::vector<NamedInput>& inputs,
                         const MessageOptions& options, const std::string& host) {
  const bool is_binary = options.inputs == TensorFormat::kBinary;
  json request = {{"inputs", json::array()}, {"parameters", options.parameters}};
  request["parameters"]["binary_data_output"] = options.outputs == TensorFormat::kBinary;
  std::string tensors;
  for (const NamedInput& input : inputs) {
    json to = {{"name", input.name}, {"shape", input.array.shape}, {"datatype", input.datatype}};
    if (is_binary)
      to["parameters"] = {{"binary_data_size", input.array.bytes.size()}};
    else
      to["data"] = elements_of(input);
    if (is_binary) tensors += bytes_of(input.array);
    request["inputs"].push_back(std::move(to));
  }
  HttpMessage message;
  message.body = request.dump();
  // Spaces behind JSON mean nothing, and tensors are read in place where they are aligned.
  if (is_binary) message.body.resize((message.body.size() + 63) / 64 * 64, ' ');
  message.head =
      "POST " + model_path(model.name, model.version) + "/infer HTTP/1.1\r\nHost: " + host + "\r\n";
  for (const auto& [name, value] : options.headers) message.head += name + ": " + value + "\r\n";
  if (is_binary)
    message.head += "Content-Type: application/octet-stream\r\nInference-Header-Content-Length: "
                    + std::to_string(message.body.size()) + "\r\n";
  else
    message.head += "Content-Type: application/json\r\n";
  message.body += tensors;
  message.head += "Content-Length: " + std::to_string(message.body.size()) + "\r\n\r\n";
  return message;
}

std::string grpc_message(const ModelDescription& model, const std::vector<NamedInput>& inputs,
                         const MessageOptions& options) {
  inference::ModelInferRequest request;
  request.set_model_name(model.name);
  request.set_model_version(model.version);
  for (const auto& [name, value] : options.parameters.items()) {
    inference::InferParameter& to = (*request.mutable_parameters())[name];
    if (value.is_boolean())
      to.set_bool_param(value.get<bool>());
    else if (value.is_string())
      to.set_string_param(value.get<std::string>());
    else
      to.set_int64_param(value.get<int64_t>());
  }
  for (const NamedInput& input : inputs) {
    auto& to = *request.add_inputs();
    to.set_name(input.name);
    to.set_datatype(input.datatype);
    to.mutable_shape()->Add(input.array.shape.begin(), input.array.shape.end());
    request.add_raw_input_contents()->assign(bytes_of(input.array));
  }
  if (request.ByteSizeLong() > INT_MAX)
    throw Error{"the request is " + std::to_string(request.ByteSizeLong())
                + " bytes, and a message holds " + std::to_string(INT_MAX)};
  return request.SerializeAsString();
}

}  // namespace tenon::load
