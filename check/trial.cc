#include "check/trial.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "check/error.h"

namespace tenon::check {
namespace {

using kit::testing::PluginCase;
using nvinfer1::PluginFieldType;
using Json = nlohmann::json;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream rest(text);
  for (std::string part; std::getline(rest, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<int64_t> parse_shape(const std::string& text) {
  std::vector<int64_t> shape;
  if (text == "scalar") return shape;
  for (const std::string& part : split(text, 'x')) {
    int64_t extent = 0;
    const char* const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, extent);
    if (error != std::errc() || rest != end || extent < 0)
      fail(ErrorClass::kOptions,
           "--shapes: '{}' is not a shape; expected extents with x between them, as 1x3x224x224",
           text);
    shape.push_back(extent);
  }
  if (shape.empty() || shape.size() > nvinfer1::Dims::MAX_DIMS)
    fail(ErrorClass::kOptions, "--shapes: '{}' has {} extents; expected 1 to {}, or \"scalar\"",
         text, shape.size(), static_cast<int>(nvinfer1::Dims::MAX_DIMS));
  return shape;
}

// Values between 0 and 2: indices and sizes, too, where they are cut to integers.
std::vector<double> values_for(const std::vector<int64_t>& shape) {
  int64_t volume = 1;
  for (const int64_t extent : shape) {
    if (extent > 0 && volume > (int64_t{1} << 28) / extent)
      fail(ErrorClass::kOptions, "--shapes: {} is too large to check", fmt::join(shape, "x"));
    volume *= extent;
  }
  std::vector<double> values(static_cast<size_t>(volume));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 8) / 4;
  return values;
}

const char* json_type(PluginFieldType type) {
  switch (type) {
    case PluginFieldType::kINT8:
      return "int8";
    case PluginFieldType::kINT16:
      return "int16";
    case PluginFieldType::kINT64:
      return "int64";
    case PluginFieldType::kFLOAT16:
      return "float16";
    case PluginFieldType::kFLOAT32:
      return "float32";
    case PluginFieldType::kFLOAT64:
      return "float64";
    default:
      return "int32";
  }
}

// A field whose type the creator says.
const PluginField* declared(const Creator& creator, const std::string& name) {
  const nvinfer1::PluginFieldCollection* fields = creator.fields();
  for (int i = 0; fields != nullptr && fields->fields != nullptr && i < fields->nbFields; ++i)
    if (text_or_empty(fields->fields[i].name) == name
        && fields->fields[i].type != PluginFieldType::kUNKNOWN)
      return &fields->fields[i];
  return nullptr;
}

// A field has the type that the creator declares, else the one that the value looks like.
void add_field(PluginCase& trial, const Creator& creator, const std::string& text) {
  const auto at = text.find('=');
  if (at == std::string::npos || at == 0)
    fail(ErrorClass::kOptions,
         "--fields: '{}' is no field; expected NAME=VALUE or NAME=VALUE,VALUE", text);
  const std::string name = text.substr(0, at), value = text.substr(at + 1);
  const PluginField* field = declared(creator, name);
  const Json numbers = Json::parse("[" + value + "]", nullptr, false);
  const bool is_text = numbers.is_discarded() || !std::ranges::all_of(numbers, [](const Json& v) {
                         return v.is_number();
                       });
  if (is_text || (field != nullptr && field->type == PluginFieldType::kCHAR))
    kit::testing::detail::add_attribute(trial, name, value);
  else if (field != nullptr)
    kit::testing::detail::add_attribute(trial, name,
                                        {{"type", json_type(field->type)}, {"values", numbers}});
  else
    kit::testing::detail::add_attribute(trial, name, numbers);
}

PluginCase start(const Creator& creator, const Options& options) {
  const Identity id = creator.identity();
  PluginCase trial(id.name, id.version, id.name_space);
  for (const std::string& field : options.fields) add_field(trial, creator, field);
  return trial;
}

void add_input(PluginCase& trial, const std::vector<int64_t>& shape, const std::string& type) {
  const std::string name = "input " + std::to_string(trial.inputs().size());
  if (type.empty())
    trial.in(name.c_str(), shape, values_for(shape));
  else
    trial.in(name.c_str(), kit::testing::detail::tensor_type(type), shape, values_for(shape));
}

std::vector<std::string> types_for(const Options& options, size_t inputs) {
  std::vector<std::string> types = split(options.types, ',');
  if (types.size() == 1) types.resize(inputs, types[0]);
  if (!types.empty() && types.size() != inputs)
    fail(ErrorClass::kOptions,
         "--types: {} are given; expected one for all, or one for each of the {} inputs",
         types.size(), inputs);
  types.resize(inputs);
  return types;
}

// Every declared field with a one; texts stay empty.
void add_ones(PluginCase& trial, const Creator& creator) {
  const nvinfer1::PluginFieldCollection* fields = creator.fields();
  for (int i = 0; fields != nullptr && fields->fields != nullptr && i < fields->nbFields; ++i) {
    const PluginField& f = fields->fields[i];
    const bool is_given = std::ranges::any_of(
        trial.fields(), [&](const auto& given) { return given.name == text_or_empty(f.name); });
    if (is_given || f.name == nullptr || f.type == PluginFieldType::kCHAR) continue;
    const Json ones = std::vector<int>(static_cast<size_t>(std::clamp(f.length, 1, 8)), 1);
    kit::testing::detail::add_attribute(trial, f.name,
                                        {{"type", json_type(f.type)}, {"values", ones}});
  }
}

}  // namespace

std::vector<Trial> given_trials(const Creator& creator, const Options& options) {
  std::vector<Trial> trials;
  const Identity id = creator.identity();
  for (const std::string& path : options.cases) try {
      for (Trial& one : kit::testing::read_cases(path))
        if (Identity{one.test.name(), one.test.version(), one.test.name_space()} == id)
          trials.push_back(std::move(one));
    } catch (const std::exception& e) {
      fail(ErrorClass::kContent, "--cases: {} cannot be read: {}", path, e.what());
    }
  if (!trials.empty() || options.shapes.empty()) return trials;
  std::vector<std::vector<int64_t>> shapes;
  for (const std::string& part : split(options.shapes, ',')) shapes.push_back(parse_shape(part));
  const std::vector<std::string> types = types_for(options, shapes.size());
  Trial trial{"", start(creator, options)};
  for (size_t i = 0; i < shapes.size(); ++i) add_input(trial.test, shapes[i], types[i]);
  trials.push_back(std::move(trial));
  return trials;
}

std::vector<Trial> guessed_trials(const Creator& creator, const Options& options) {
  const std::vector<std::vector<int64_t>> shapes = {
      {2, 4, 6, 8}, {2, 4, 6}, {2, 4}, {4}, {2, 3, 4, 3, 5}};
  constexpr size_t kMaxInputs = 5;
  std::vector<Trial> trials;
  for (const bool with_ones : {false, true})
    for (size_t inputs = 1; inputs <= kMaxInputs; ++inputs)
      for (const auto& shape : shapes) {
        Trial trial{"", start(creator, options)};
        if (with_ones) add_ones(trial.test, creator);
        const std::string type = options.types.substr(0, options.types.find(','));
        for (size_t i = 0; i < inputs; ++i) add_input(trial.test, shape, type);
        trials.push_back(std::move(trial));
      }
  return trials;
}

std::vector<PluginField> fields_of(const Trial& trial) {
  std::vector<PluginField> fields;
  for (const auto& f : trial.test.fields()) fields.push_back(f.view());
  return fields;
}

}  // namespace tenon::check
