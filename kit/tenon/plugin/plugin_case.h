/// A test case of a plugin: what it gets and what it must give.
#pragma once

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/plugin/case_tensor.h"
#include "tenon/plugin/describe.h"
#include "tenon/plugin/entry.h"

namespace tenon {
namespace kit {
namespace testing {

using nvinfer1::PluginFieldType;

class PluginCase {
 public:
  explicit PluginCase(std::string name, std::string version = "1", std::string name_space = "")
      : name_(std::move(name)), version_(std::move(version)), name_space_(std::move(name_space)) {}

  PluginCase& attribute(const char* name, int32_t value) {
    return field(name, PluginFieldType::kINT32, &value, 1);
  }
  PluginCase& attribute(const char* name, int64_t value) {
    return field(name, PluginFieldType::kINT64, &value, 1);
  }
  PluginCase& attribute(const char* name, float value) {
    return field(name, PluginFieldType::kFLOAT32, &value, 1);
  }
  PluginCase& attribute(const char* name, std::string_view text) {
    return field(name, PluginFieldType::kCHAR, text.data(), text.size());
  }
  PluginCase& attribute(const char* name, const std::vector<int32_t>& v) {
    return field(name, PluginFieldType::kINT32, v.data(), v.size());
  }
  PluginCase& attribute(const char* name, const std::vector<float>& v) {
    return field(name, PluginFieldType::kFLOAT32, v.data(), v.size());
  }
  /// A field of any type.
  template <class E>
  PluginCase& field(const char* name, PluginFieldType type, const E* data, size_t length) {
    const auto* bytes = reinterpret_cast<const char*>(data);
    fields_.push_back({name, type, static_cast<int32_t>(length),
                       bytes == nullptr ? "" : std::string(bytes, length * sizeof(E))});
    return *this;
  }

  /// The length that the last field has, where that is not how many elements it has.
  PluginCase& length(size_t length) {
    fields_.back().length = static_cast<int32_t>(length);
    return *this;
  }

  /// Tensors of the type variable T: the case is repeated for each of its types. Integers are left
  /// out when a value is not whole.
  PluginCase& in(const char* name, const std::vector<int64_t>& dims, std::vector<double> values) {
    return add(inputs_, {name, DataType::kFLOAT, true, {}, std::move(values)}, dims);
  }
  PluginCase& out(const char* name, const std::vector<int64_t>& dims, std::vector<double> values) {
    return add(outputs_, {name, DataType::kFLOAT, true, {}, std::move(values)}, dims);
  }
  /// Tensors of a type of their own.
  PluginCase& in(const char* name, DataType type, const std::vector<int64_t>& dims,
                 std::vector<double> values) {
    return add(inputs_, {name, type, false, {}, std::move(values)}, dims);
  }
  PluginCase& out(const char* name, DataType type, const std::vector<int64_t>& dims,
                  std::vector<double> values) {
    return add(outputs_, {name, type, false, {}, std::move(values)}, dims);
  }
  /// What a step of the last input or output is worth, an int8 of a plugin that asks.
  PluginCase& scale(float scale) {
    (outputs_.empty() ? inputs_ : outputs_).back().scale = scale;
    return *this;
  }
  /// |got - expected| <= tolerance * (1 + |expected|), for fp32; fp16 has its own.
  PluginCase& tolerance(double fp32, double fp16) {
    fp32_tolerance_ = fp32;
    fp16_tolerance_ = fp16;
    return *this;
  }

  /// The elements of a shape input.
  PluginCase& shape_input(std::vector<int64_t> values) {
    shape_inputs_.push_back(std::move(values));
    return *this;
  }

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& name_space() const { return name_space_; }
  /// By which the plugin's entry is found in entries().
  std::string key() const { return name_ + "/" + version_ + "/" + name_space_; }
  const std::vector<CaseField>& fields() const { return fields_; }
  const std::vector<CaseTensor>& inputs() const { return inputs_; }
  const std::vector<CaseTensor>& outputs() const { return outputs_; }
  const std::vector<std::vector<int64_t>>& shape_inputs() const { return shape_inputs_; }

  /// The types of T in which the case makes sense. In int8 that is Quantized, a case has scales,
  /// and tensors of a type of their own.
  std::vector<DataType> types() const {
    std::vector<DataType> list;
    const auto found = entries().find(key());
    const TypeMask mask = found == entries().end() ? 0 : found->second.t;
    for (int i = 0; i < 30; ++i) {
      const auto type = static_cast<DataType>(i);
      const bool is_other = type == DataType::kINT8 && found->second.is_quantized;
      if ((mask >> i & 1) != 0 && (is_floating(type) || (is_whole() && !is_other)))
        list.push_back(type);
    }
    return list;
  }
  /// "" when output `o`, given by its type, format and elements, is what was expected.
  std::string compare(size_t o, DataType type, const void* data,
                      nvinfer1::TensorFormat format = nvinfer1::TensorFormat::kLINEAR) const {
    const CaseTensor& output = outputs_[o];
    const double tolerance = type == DataType::kHALF   ? fp16_tolerance_
                             : type == DataType::kBF16 ? 8 * fp16_tolerance_
                                                       : fp32_tolerance_;
    for (size_t i = 0; i < output.values.size(); ++i) {
      const double want = output.values[i], got = output.element(type, format, data, i);
      const bool same = want == got || (std::isnan(want) && std::isnan(got));
      if (same || std::fabs(got - want) <= tolerance * (1 + std::fabs(want))) continue;
      std::ostringstream text;
      text << output.name << "[" << i << "] = " << got << ", expected " << want << " ("
           << types_text(bit(type)) << ")";
      return text.str();
    }
    return "";
  }

  /// "" when all is well in both protocols, else the first difference or error.
  std::string check() const;

 private:
  PluginCase& add(std::vector<CaseTensor>& list, CaseTensor tensor,
                  const std::vector<int64_t>& dims) {
    tensor.dims.nbDims = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims.d);
    list.push_back(std::move(tensor));
    return *this;
  }
  bool is_whole() const {
    const auto whole = [](const CaseTensor& v) {
      return !v.follows_t || std::ranges::all_of(v.values, [](double x) {
        return x == std::nearbyint(x) && std::fabs(x) < 128;
      });
    };
    return std::ranges::all_of(inputs_, whole) && std::ranges::all_of(outputs_, whole);
  }

  std::string name_, version_, name_space_;
  std::vector<CaseField> fields_;
  std::vector<CaseTensor> inputs_, outputs_;
  std::vector<std::vector<int64_t>> shape_inputs_;
  double fp32_tolerance_ = 1e-5, fp16_tolerance_ = 2e-3;
};

}  // namespace testing
}  // namespace kit
}  // namespace tenon
