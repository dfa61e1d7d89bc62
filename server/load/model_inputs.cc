#include "model_inputs.h"

#include <tenon/printable.h>
#include <tenon/session/npz.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

#include "guard.h"
#include "model/datatype.h"

namespace tenon::load {
namespace {

using nvinfer1::DataType;
using session::Array;
using session::Error;
using session::Shape;
using session::value_of;

std::string label_of(const std::string& name) {
  return "input '" + printable(name) + "'";
}

Shape shape_of(const TensorDescription& input, const InputOptions& options) {
  const bool has_batch = !input.shape.empty() && input.shape[0] < 0;
  Shape shape = input.shape;
  if (has_batch) shape[0] = options.batch;
  const auto wanted = options.shapes.find(input.name);
  if (wanted != options.shapes.end()) {
    const bool is_without_batch = has_batch && wanted->second.size() + 1 == shape.size();
    if (!is_without_batch && wanted->second.size() != shape.size())
      throw Error{label_of(input.name) + " has the shape " + session::shape_text(input.shape)
                  + ", found " + session::shape_text(wanted->second)};
    std::ranges::copy(wanted->second, shape.begin() + (is_without_batch ? 1 : 0));
  }
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0)
      throw Error{label_of(input.name) + " has the shape " + session::shape_text(input.shape)
                  + ", whose axis " + std::to_string(axis)
                  + " varies: expected --shape=" + printable(input.name) + ":..."};
    if (input.shape[axis] >= 0 && shape[axis] != input.shape[axis])
      throw Error{label_of(input.name) + " has the shape " + session::shape_text(input.shape)
                  + ", found " + session::shape_text(shape)};
  }
  return shape;
}

template <class T, class Next> void fill(Array& array, Next next) {
  T* const elements = array.as<T>();
  for (int64_t i = 0; i < array.count(); ++i) elements[i] = static_cast<T>(next());
}

void fill_with_random(Array& array, std::mt19937_64& random) {
  const auto below = [&](int64_t end) { return [&random, end] { return random() % end; }; };
  switch (array.type) {
    case DataType::kFLOAT:
      return fill<float>(array, [&] { return std::uniform_real_distribution<float>()(random); });
    case DataType::kINT32:
      return fill<int32_t>(array, below(100));
    case DataType::kINT64:
      return fill<int64_t>(array, below(100));
    case DataType::kBOOL:
      return fill<uint8_t>(array, below(2));
    default:
      return fill<uint8_t>(array, below(256));
  }
}

Array random_array(DataType type, const Shape& shape, std::mt19937_64& random) {
  const bool is_half = type == DataType::kHALF || type == DataType::kBF16;
  Array array = value_of(session::make_array(is_half ? DataType::kFLOAT : type, shape));
  fill_with_random(array, random);
  return is_half ? value_of(session::convert(array, type)) : array;
}

Array array_of_file(const session::Arrays& arrays, const TensorDescription& input, DataType type,
                    const InputOptions& options) {
  const auto found = arrays.find(input.name);
  if (found == arrays.end())
    throw Error{"--input-data: " + printable(options.file) + " has no array '"
                + printable(input.name) + "'"};
  InputOptions as_in_file = options;
  as_in_file.shapes[input.name] = found->second.shape;
  const Shape shape = shape_of(input, as_in_file);
  if (shape != found->second.shape) {
    // The batch is made of the one item that the file has.
    Array batch = value_of(session::convert(found->second, type, label_of(input.name)));
    const std::vector<std::byte> item = batch.bytes;
    for (int64_t i = 1; i < shape[0]; ++i)
      batch.bytes.insert(batch.bytes.end(), item.begin(), item.end());
    batch.shape = shape;
    return batch;
  }
  return value_of(session::convert(found->second, type, label_of(input.name)));
}

}  // namespace

std::pair<std::string, Shape> parse_shape(const std::string& text) {
  const size_t colon = text.rfind(':');
  const auto refuse = [&] {
    throw Error{"--shape: expected NAME:3,224,224, found '" + printable(text) + "'"};
  };
  if (colon == std::string::npos || colon == 0) refuse();
  Shape shape;
  for (const char *at = text.data() + colon + 1, *last = text.data() + text.size();;) {
    const auto [end, error] = std::from_chars(at, last, shape.emplace_back());
    if (error != std::errc() || shape.back() < 0) refuse();
    if (end == last) break;
    if (*end != ',' && *end != 'x') refuse();
    at = end + 1;
  }
  return {text.substr(0, colon), std::move(shape)};
}

std::vector<NamedInput> make_inputs(const ModelDescription& model, const InputOptions& options) {
  for (const auto& [name, shape] : options.shapes)
    if (std::ranges::find(model.inputs, name, &TensorDescription::name) == model.inputs.end())
      throw Error{"--shape: model '" + printable(model.name) + "' has no " + label_of(name)};
  session::Arrays arrays;
  if (!options.file.empty()) arrays = value_of(session::read_npz(options.file));
  std::mt19937_64 random(options.seed);
  std::vector<NamedInput> inputs;
  for (const TensorDescription& input : model.inputs) {
    const auto type = server::datatype_of(input.datatype);
    if (!type)
      throw Error{label_of(input.name) + " is of " + printable(input.datatype)
                  + ", which is not supported yet"};
    NamedInput made{input.name, input.datatype, {}};
    if (!options.file.empty())
      made.array = array_of_file(arrays, input, *type, options);
    else if (options.data == InputData::kZero)
      made.array = value_of(session::make_array(*type, shape_of(input, options)));
    else
      made.array = random_array(*type, shape_of(input, options), random);
    inputs.push_back(std::move(made));
  }
  return inputs;
}

}  // namespace tenon::load
