#include "json_response.h"

#include <tenon/printable.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "guard.h"
#include "model/classification.h"
#include "model/datatype.h"

namespace tenon::server {

using session::value_of;

namespace {

template <class T> void append_numbers(std::string& text, const T* values, size_t count) {
  char number[32];
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    if constexpr (std::is_same_v<T, bool>) {
      text += values[i] ? "true" : "false";
    } else {
      if constexpr (std::is_floating_point_v<T>)
        if (!std::isfinite(values[i]))
          throw Error{"element " + std::to_string(i)
                      + " is no finite number, which JSON does not have: ask for binary_data"};
      text.append(number, std::to_chars(number, number + sizeof number, values[i]).ptr);
    }
  }
}

void append_data(std::string& text, Tensor& tensor) {
  const auto count = static_cast<size_t>(tensor.numel());
  const auto append = [&]<class T>(T) {
    append_numbers(text, static_cast<const T*>(value_of(tensor.cpu())), count);
  };
  switch (tensor.type()) {
    case DataType::kFLOAT:
      return append(float());
    case DataType::kINT8:
      return append(int8_t());
    case DataType::kUINT8:
      return append(uint8_t());
    case DataType::kINT32:
      return append(int32_t());
    case DataType::kINT64:
      return append(int64_t());
    case DataType::kBOOL:
      return append(bool());
    default:
      throw Error{std::string(datatype_name(tensor.type()))
                  + " is only sent as binary data: ask for binary_data"};
  }
}

void append_strings(std::string& text, Tensor& tensor) {
  for (const std::string_view element : bytes_elements(tensor))
    (text += text.back() == '[' ? "" : ",") += json_string(element);
}

void append_output(RestResponse& to, OutputTensor output, bool is_binary) {
  std::string& text = to.text;
  text += R"({"name":)" + json_string(output.name) + R"(,"datatype":")";
  text += output.datatype();
  text += R"(","shape":[)";
  append_numbers(text, output.shape().data(), output.shape().size());
  text += ']';
  if (output.part) {
    text += R"(,"parameters":{"shared_memory_region":)" + json_string(output.part->region)
            + R"(,"shared_memory_offset":)" + std::to_string(output.part->offset)
            + R"(,"shared_memory_byte_size":)" + std::to_string(output.part->bytes) + "}}";
    return;
  }
  if (is_binary) {
    text += R"(,"parameters":{"binary_data_size":)" + std::to_string(output.tensor.bytes()) + "}}";
    to.has_tensors = true;
    to.tensors.push_back(std::move(output.tensor));
    return;
  }
  text += R"(,"data":[)";
  try {
    if (output.of_strings)
      append_strings(text, output.tensor);
    else
      append_data(text, output.tensor);
  } catch (const Error& cause) {
    throw Error{"output '" + printable(output.name) + "': " + cause.text};
  }
  text += "]}";
}

}  // namespace

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<RestResponse> infer_response(OutputResponse response, const OutputFormat& format) noexcept {
  return session::guard([&] {
    RestResponse made;
    made.text = R"({"model_name":)" + json_string(response.model) + R"(,"model_version":)"
                + json_string(response.version);
    if (!response.id.empty()) made.text += R"(,"id":)" + json_string(response.id);
    made.text += R"(,"outputs":[)";
    for (size_t i = 0; i < response.outputs.size(); ++i) {
      if (i > 0) made.text += ',';
      const bool is_binary = format.wants_binary(response.outputs[i].name);
      append_output(made, std::move(response.outputs[i]), is_binary);
    }
    made.text += "]}";
    if (made.has_tensors) made.content_type = "application/octet-stream";
    return made;
  });
}

}  // namespace tenon::server
