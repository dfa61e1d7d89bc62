/// Reads cases.json, which plugins/cases.py writes: test cases from another implementation. Needs
/// nlohmann/json.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tenon/plugin/testing.h"

namespace tenon {
namespace kit {
namespace testing {

struct NamedCase {
  std::string name;
  PluginCase test;
};

namespace detail {

using Json = nlohmann::json;

/// JSON has no NaN and no infinities: they are strings.
inline double number(const Json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

template <class E>
void add_field(PluginCase& test, const std::string& name, PluginFieldType type, const Json& list) {
  std::vector<E> values;
  for (const Json& v : list)
    values.push_back(v.is_number_integer() ? static_cast<E>(v.get<int64_t>())
                                           : static_cast<E>(number(v)));
  test.field(name.c_str(), type, values.data(), values.size());
}

inline void add_attribute(PluginCase& test, const std::string& name, const Json& value) {
  if (value.is_string()) {
    test.attribute(name.c_str(), value.get_ref<const std::string&>());
    return;
  }
  const Json list = value.is_array() ? value : value.is_object() ? value["values"] : Json{value};
  const bool real = std::ranges::any_of(list, [](const Json& v) { return !v.is_number_integer(); });
  const std::string type = value.is_object() ? value["type"] : real ? "float32" : "int32";
  if (type == "int32") return add_field<int32_t>(test, name, PluginFieldType::kINT32, list);
  if (type == "int64") return add_field<int64_t>(test, name, PluginFieldType::kINT64, list);
  if (type == "int16") return add_field<int16_t>(test, name, PluginFieldType::kINT16, list);
  if (type == "int8") return add_field<int8_t>(test, name, PluginFieldType::kINT8, list);
  if (type == "float32") return add_field<float>(test, name, PluginFieldType::kFLOAT32, list);
  if (type == "float64") return add_field<double>(test, name, PluginFieldType::kFLOAT64, list);
  if (type == "float16") return add_field<Half>(test, name, PluginFieldType::kFLOAT16, list);
  throw std::invalid_argument("attribute " + name + " has type " + type);
}

inline DataType tensor_type(const std::string& name) {
  static const std::map<std::string, DataType> kTypes = {
      {"any", DataType::kINT32},     {"float32", DataType::kFLOAT}, {"float16", DataType::kHALF},
      {"bfloat16", DataType::kBF16}, {"int8", DataType::kINT8},     {"int32", DataType::kINT32},
      {"int64", DataType::kINT64},   {"uint8", DataType::kUINT8},   {"bool", DataType::kBOOL}};
  const auto found = kTypes.find(name);
  if (found == kTypes.end()) throw std::invalid_argument("a tensor has type " + name);
  return found->second;
}

/// Calls f(name, type, dims, values), and scale() behind it where a tensor has one.
template <class F> void each_tensor(PluginCase& test, const Json& tensors, const F& f) {
  for (const Json& v : tensors) {
    std::vector<double> values;
    for (const Json& x : v.value("values", Json::array())) values.push_back(number(x));
    const std::string name = v["name"], type = v["type"];
    f(name.c_str(), type, v["dims"].get<std::vector<int64_t>>(), std::move(values));
    if (v.contains("scale")) test.scale(v["scale"]);
  }
}

inline PluginCase plugin_case(const Json& json) {
  PluginCase test(json["plugin"], json["version"], json["namespace"]);
  for (const auto& [name, value] : json["attributes"].items()) add_attribute(test, name, value);
  each_tensor(test, json["inputs"], [&](auto name, auto& type, auto dims, auto values) {
    type == "T" ? test.in(name, dims, values) : test.in(name, tensor_type(type), dims, values);
  });
  each_tensor(test, json["outputs"], [&](auto name, auto& type, auto dims, auto values) {
    type == "T" ? test.out(name, dims, values) : test.out(name, tensor_type(type), dims, values);
  });
  for (const Json& values : json.value("shape_inputs", Json::array()))
    test.shape_input(values.get<std::vector<int64_t>>());
  return test.tolerance(json["tolerance"][0], json["tolerance"][1]);
}

}  // namespace detail

/// The cases of a file. Throws what nlohmann/json throws, and std::invalid_argument.
inline std::vector<NamedCase> read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("cannot read " + path);
  std::vector<NamedCase> cases;
  for (const detail::Json& json : detail::Json::parse(file))
    cases.push_back({json["name"], detail::plugin_case(json)});
  return cases;
}

}  // namespace testing
}  // namespace kit
}  // namespace tenon
