#include "json_infer.h"

#include <simdjson.h>
#include <tenon/printable.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "guard.h"
#include "model/datatype.h"
#include "model/models.h"
#include "model/request_limits.h"
#include "model/tensor_memory.h"

namespace tenon::server {

using session::value_of;

namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

std::string text_of(const element& value, const std::string& where) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) throw Error{where + ": expected a string"};
  return std::string(text);
}

int64_t integer_of(const element& value, const std::string& where) {
  int64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS)
    throw Error{where + ": expected a whole number of 64 bits"};
  return number;
}

int64_t integer_of(const element& value, const std::string& where, int64_t max) {
  const int64_t number = integer_of(value, where);
  if (number < 0 || number > max)
    throw Error{where + ": expected 0 to " + std::to_string(max) + ", found "
                + std::to_string(number)};
  return number;
}

size_t size_of(const element& value, const std::string& where) {
  return static_cast<size_t>(integer_of(value, where, std::numeric_limits<int64_t>::max()));
}

// Takes what says where in shared memory a tensor is; false for other parameters.
bool take_part(std::optional<RegionPart>& part, const std::string& key, const element& value,
               const std::string& where) {
  if (!key.starts_with("shared_memory_")) return false;
  if (!part) part.emplace();
  if (key == "shared_memory_region")
    part->region = text_of(value, where);
  else if (key == "shared_memory_offset")
    part->offset = size_of(value, where);
  else if (key == "shared_memory_byte_size")
    part->bytes = size_of(value, where);
  else
    throw Error{where + ": there is no such parameter"};
  return true;
}

bool flag_of(const element& value, const std::string& where) {
  bool flag = false;
  if (value.get(flag) != simdjson::SUCCESS) throw Error{where + ": expected true or false"};
  return flag;
}

// Calls `take(key, value)` for each parameter of an object that may have some.
template <class Take> void each_parameter(const object& of, const std::string& where, Take take) {
  element parameters;
  if (of["parameters"].get(parameters) != simdjson::SUCCESS) return;
  object fields;
  if (parameters.get(fields) != simdjson::SUCCESS)
    throw Error{where + "parameters: expected an object"};
  for (const auto& [key, value] : fields)
    take(std::string(key), value, where + "parameters: " + printable(key));
}

// Each of an array of objects, with where it is; there need be none.
template <class Take> void each_object(const object& of, const char* name, size_t max, Take take) {
  element found;
  if (of[name].get(found) != simdjson::SUCCESS) return;
  array values;
  if (found.get(values) != simdjson::SUCCESS)
    throw Error{std::string(name) + ": expected an array"};
  size_t number = 0;
  for (const element& value : values) {
    if (number == max) throw Error{std::string(name) + ": expected at most " + std::to_string(max)};
    const std::string where = std::string(name) + "[" + std::to_string(number++) + "]";
    object fields;
    if (value.get(fields) != simdjson::SUCCESS) throw Error{where + ": expected an object"};
    element named;
    if (fields["name"].get(named) != simdjson::SUCCESS) throw Error{where + ": has no name"};
    take(fields, text_of(named, where + ".name"));
  }
}

template <class T> bool store(const element& value, std::byte* to) {
  T result;
  if constexpr (std::is_same_v<T, float>) {
    double number = 0;
    if (value.get(number) != simdjson::SUCCESS) return false;
    result = static_cast<float>(number);
    if (std::isinf(result)) return false;
  } else if constexpr (std::is_same_v<T, bool>) {
    int64_t number = 0;
    if (value.get(result) != simdjson::SUCCESS) {
      if (value.get(number) != simdjson::SUCCESS || number < 0 || number > 1) return false;
      result = number == 1;
    }
  } else {
    int64_t number = 0;
    if (value.get(number) != simdjson::SUCCESS || number < std::numeric_limits<T>::min()
        || number > std::numeric_limits<T>::max())
      return false;
    result = static_cast<T>(number);
  }
  std::memcpy(to, &result, sizeof result);
  return true;
}

using Store = bool (*)(const element&, std::byte*);
Store store_of(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return store<float>;
    case DataType::kINT8:
      return store<int8_t>;
    case DataType::kUINT8:
      return store<uint8_t>;
    case DataType::kINT32:
      return store<int32_t>;
    case DataType::kINT64:
      return store<int64_t>;
    case DataType::kBOOL:
      return store<bool>;
    default:
      return nullptr;
  }
}

// Elements of JSON, in arrays of arrays or in one, written one behind the other.
class Elements {
 public:
  Elements(Tensor& tensor, const std::string& where)
      : store_(store_of(tensor.type())),
        width_(tensor.element_size()),
        left_(static_cast<size_t>(tensor.numel())),
        where_(where) {
    if (store_ == nullptr)
      throw Error{where + ": " + std::string(datatype_name(tensor.type()))
                  + " is only sent as binary data"};
    at_ = static_cast<std::byte*>(value_of(tensor.cpu()));
  }

  void take(const element& value) {
    array values;
    if (value.get(values) == simdjson::SUCCESS) {
      for (const element& one : values) take(one);
      return;
    }
    if (left_ == 0) throw Error{where_ + ": has more elements than the shape"};
    if (!store_(value, at_))
      throw Error{where_ + ": element " + simdjson::minify(value)
                  + " is none that the datatype holds"};
    at_ += width_;
    --left_;
  }
  void finish() const {
    if (left_ > 0) throw Error{where_ + ": has " + std::to_string(left_) + " elements too few"};
  }

 private:
  Store store_;
  size_t width_, left_;
  std::byte* at_ = nullptr;
  std::string where_;
};

class Parser {
 public:
  Parser(std::shared_ptr<Body> body, size_t json, const JsonLimits& limits)
      : body_(std::move(body)), json_(json), binary_(json), limits_(limits) {}

  JsonInferRequest parse() {
    if (json_ == 0) throw Error{"the body is not the JSON of a request: it is empty"};
    simdjson::dom::parser parser;
    if (parser.allocate(std::max<size_t>(json_, 64), limits_.max_depth) != simdjson::SUCCESS)
      throw Error{"out of memory"};
    element document;
    const auto* const text = reinterpret_cast<const uint8_t*>(body_->data());
    static_assert(Body::kPadding >= simdjson::SIMDJSON_PADDING);
    if (const auto error = parser.parse(text, json_, false).get(document);
        error != simdjson::SUCCESS)
      throw Error{std::string("the body is not the JSON of a request: ")
                  + simdjson::error_message(error)};
    object fields;
    if (document.get(fields) != simdjson::SUCCESS) throw Error{"the body is JSON, but no object"};
    JsonInferRequest parsed;
    if (element id; fields["id"].get(id) == simdjson::SUCCESS)
      parsed.request.id = text_of(id, "id");
    each_parameter(fields, "",
                   [&](const std::string& key, const element& value, const std::string& where) {
                     take_parameter(parsed, key, value, where);
                   });
    each_object(fields, "inputs", limits_.max_tensors, [&](const object& input, std::string name) {
      auto read = input_of(input, name);
      if (read.part) parsed.wanted.inputs[parsed.request.inputs.size()] = *std::move(read.part);
      parsed.request.inputs.push_back({std::move(name), std::move(read.tensor)});
    });
    each_object(fields, "outputs", limits_.max_tensors,
                [&](const object& output, std::string name) {
                  take_output(parsed, output, std::move(name));
                });
    if (binary_ != body_->size())
      throw Error{std::to_string(body_->size() - binary_)
                  + " bytes follow the tensors that the inputs have in binary"};
    return parsed;
  }

 private:
  static void take_parameter(JsonInferRequest& to, const std::string& key, const element& value,
                             const std::string& where) {
    if (key == "binary_data_output") {
      to.format.is_binary = flag_of(value, where);
    } else if (key == "timeout") {
      set_timeout(to.request, integer_of(value, where, kMaxTimeout));
    } else if (key == "priority") {
      set_priority(to.request, integer_of(value, where, kMaxPriority));
    } else if (key == "sequence_id") {
      uint64_t number = 0;
      if (value.get(number) == simdjson::SUCCESS)
        to.request.sequence.id = number;
      else
        to.request.sequence.id = text_of(value, where);
    } else if (key == "sequence_start") {
      to.request.sequence.is_start = flag_of(value, where);
    } else if (key == "sequence_end") {
      to.request.sequence.is_end = flag_of(value, where);
    }
  }

  static void take_output(JsonInferRequest& to, const object& output, std::string name) {
    const std::string where = "output '" + printable(name) + "': ";
    bool is_binary = to.format.is_binary;
    RequestedOutput wanted;
    each_parameter(output, where,
                   [&](const std::string& key, const element& value, const std::string& at) {
                     if (take_part(wanted.part, key, value, at)) return;
                     if (key == "binary_data") is_binary = flag_of(value, at);
                     if (key == "classification") wanted.classes = size_of(value, at);
                   });
    if (is_binary) to.format.binary.insert(name);
    to.format.named.insert(name);
    if (wanted.classes > 0 || wanted.part)
      to.wanted.outputs.insert_or_assign(name, std::move(wanted));
    to.request.outputs.push_back(std::move(name));
  }

  static Shape shape_of(const object& input, const std::string& where) {
    array extents;
    if (input["shape"].get(extents) != simdjson::SUCCESS)
      throw Error{where + "shape: expected an array"};
    Shape shape;
    for (const element& extent : extents) {
      shape.push_back(integer_of(extent, where + "shape"));
      if (shape.size() > nvinfer1::Dims::MAX_DIMS)
        throw Error{where + "shape: expected at most " + std::to_string(nvinfer1::Dims::MAX_DIMS)
                    + " extents"};
    }
    return shape;
  }

  // The tensor has no memory where its elements are in shared memory.
  struct Input {
    Tensor tensor;
    std::optional<RegionPart> part;
  };

  Input input_of(const object& input, const std::string& input_name) {
    const std::string where = "input '" + printable(input_name) + "': ";
    element datatype;
    if (input["datatype"].get(datatype) != simdjson::SUCCESS)
      throw Error{where + "has no datatype"};
    const std::string name = text_of(datatype, where + "datatype");
    const auto type = datatype_of(name);
    if (!type) throw Error{where + "datatype: models take no '" + printable(name) + "'"};
    const Shape shape = shape_of(input, where);
    const size_t bytes = bytes_of(shape, *type, where);
    std::optional<size_t> binary;
    std::optional<RegionPart> part;
    each_parameter(input, where,
                   [&](const std::string& key, const element& value, const std::string& at) {
                     if (take_part(part, key, value, at) || key != "binary_data_size") return;
                     binary = size_of(value, at);
                     if (*binary != bytes)
                       throw Error{at + ": expected the " + std::to_string(bytes) + " bytes of "
                                   + session::shape_text(shape) + " " + name + ", found "
                                   + std::to_string(*binary)};
                   });
    element data;
    const bool has_data = input["data"].get(data) == simdjson::SUCCESS;
    if (has_data + binary.has_value() + part.has_value() != 1)
      throw Error{where
                  + (has_data || binary ? "expected only one of data, binary_data_size and "
                                          "shared_memory_region"
                                        : "has no data")};
    if (part) return {Tensor(shape, *type), std::move(part)};
    return {has_data ? tensor_of(data, shape, *type, bytes, where + "data")
                     : tensor_in_body(shape, *type, bytes, where),
            {}};
  }

  // It is compared with what came before memory is made.
  static size_t bytes_of(const Shape& shape, DataType type, const std::string& where) {
    try {
      return tensor_bytes(shape, type);
    } catch (const Error& cause) {
      throw Error{where + cause.text};
    }
  }

  Tensor tensor_of(const element& data, const Shape& shape, DataType type, size_t bytes,
                   const std::string& where) const {
    // An element takes at least two bytes of JSON.
    if (bytes / session::element_size(type) > json_)
      throw Error{where + ": has fewer elements than the shape " + session::shape_text(shape)};
    Tensor tensor = unfilled_tensor(shape, type);
    Elements elements(tensor, where);
    elements.take(data);
    elements.finish();
    return tensor;
  }

  Tensor tensor_in_body(const Shape& shape, DataType type, size_t bytes, const std::string& where) {
    if (bytes > body_->size() - binary_)
      throw Error{where + "binary_data_size: " + std::to_string(body_->size() - binary_)
                  + " bytes are left of the body, and " + std::to_string(bytes) + " are expected"};
    unsigned char* const data = body_->data() + binary_;
    binary_ += bytes;
    if (reinterpret_cast<uintptr_t>(data) % session::element_size(type) != 0) {
      Tensor tensor = unfilled_tensor(shape, type);
      value_of(tensor.copy_from_cpu(0, data, tensor.numel()));
      return tensor;
    }
    return tensor_over(shape, type, data, body_);
  }

  std::shared_ptr<Body> body_;
  size_t json_, binary_;  // the JSON's end, and where the next binary tensor begins
  JsonLimits limits_;
};

}  // namespace

Result<std::optional<std::string>> parse_load_config(const Body& body) noexcept {
  return session::guard([&] {
    std::optional<std::string> config;
    if (body.empty()) return config;
    simdjson::dom::parser parser;
    object fields, parameters;
    if (parser.parse(body.data(), body.size(), true).get(fields) != simdjson::SUCCESS)
      throw Error{"expected an object with parameters"};
    simdjson::dom::element value_of_parameters;
    if (fields["parameters"].get(value_of_parameters) != simdjson::SUCCESS) return config;
    if (value_of_parameters.get(parameters) != simdjson::SUCCESS)
      throw Error{"parameters: expected an object"};
    for (const auto& [key, value] : parameters) {
      const std::string name(key);
      std::string_view text;
      if (name != "config" || value.get(text) != simdjson::SUCCESS)
        throw Error{load_parameter_error(name)};
      config = text;
    }
    return config;
  });
}

bool unloads_members(const Body& body) noexcept {
  simdjson::dom::parser parser;
  object fields;
  bool is_so = false;
  return !body.empty()
         && parser.parse(body.data(), body.size(), true).get(fields) == simdjson::SUCCESS
         && fields["parameters"]["unload_dependents"].get(is_so) == simdjson::SUCCESS && is_so;
}

std::optional<size_t> json_length_of(const std::string& text) noexcept {
  size_t length = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, length);
  if (error != std::errc() || last != end) return std::nullopt;
  return length;
}

Result<JsonInferRequest> parse_infer_request(const std::shared_ptr<Body>& body,
                                             const std::string& json_length,
                                             const JsonLimits& limits) noexcept {
  return session::guard([&] {
    const size_t json =
        json_length.empty() ? body->size() : json_length_of(json_length).value_or(SIZE_MAX);
    if (json > body->size())
      throw Error{"Inference-Header-Content-Length: expected at most the "
                  + std::to_string(body->size()) + " bytes of the body, found '"
                  + printable(json_length) + "'"};
    return Parser(body, json, limits).parse();
  });
}

}  // namespace tenon::server
