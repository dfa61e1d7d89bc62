#include "precision_report.h"

#include <fmt/format.h>
#include <tenon/printable.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace tenon::tool {
namespace {

using nlohmann::json;

// "channels last float32" is of float32.
std::string type_of(const json& tensor) {
  const auto text = tensor.value("Format/Datatype", std::string());
  return text.substr(text.rfind(' ') + 1);
}

std::vector<std::string> types_of(const json& tensors) {
  std::vector<std::string> types;
  for (const json& tensor : tensors)
    if (tensor.is_object()) types.push_back(type_of(tensor));
  return types;
}

bool is_float(const std::string& type) {
  return type.starts_with("float") || type.starts_with("bfloat");
}

bool is_product(const std::string& kind) {
  static const std::set<std::string> kProducts = {"Convolution", "MatrixMultiply", "Deconvolution",
                                                  "Attention", "SeparableConvolution"};
  return kProducts.contains(kind);
}

bool only_moves(const std::string& kind) {
  static const std::set<std::string> kMoves = {
      "Reorder", "Shuffle", "Slice", "Concatenation", "Gather", "DebugTensor", "Constant", "Shape"};
  return kMoves.contains(kind);
}

}  // namespace

bool multiplies_quantized(std::string_view kind) {
  return kind.starts_with("Quantized");
}

Precision precision_of(const std::string& kind, const std::string& kernel,
                       const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs, bool is_quantized) {
  const std::string result = outputs.empty() ? std::string() : outputs[0];
  if (multiplies_quantized(kind)) {
    const bool is_float8 = !inputs.empty() && inputs[0].starts_with("float8");
    const std::string what = is_float8 ? "fp8" : "integers";
    const bool is_left = is_float(result) && !result.starts_with("float8");
    return {
        is_float8 ? "fp8" : "int8",
        "its data and weights are " + what + (is_left ? ", and nothing quantizes its result" : "")};
  }
  if ((kind == "Quantize" || kind == "Dequantize") && !inputs.empty())
    return {is_float(result) ? result : inputs[0], "turns " + inputs[0] + " into " + result};
  if (kernel.starts_with("bfloat_"))
    return {"bfloat16", "the kernel rounds what it multiplies; tensors are " + result};
  if (kernel.starts_with("quantized_"))
    return {result, "its weights are integers in memory, and floats as they are multiplied"};
  if (is_product(kind) && is_quantized && is_float(result))
    return {result, "its data or weights are not quantized"};
  return {result, "its tensors are " + result};
}

std::string precision_report(std::string_view plan) {
  const json layers = json::parse(plan)["Layers"];
  const auto multiplies = [](const json& layer) {
    return multiplies_quantized(layer.value("LayerType", std::string()));
  };
  const bool is_quantized = std::any_of(layers.begin(), layers.end(), multiplies);
  std::map<std::string, int> counts;
  std::string text;
  for (const json& layer : layers) {
    const auto kind = layer.value("LayerType", std::string());
    if (only_moves(kind)) continue;
    const auto kernel = layer.value("TacticName", std::string());
    const Precision precision =
        precision_of(kind, kernel, types_of(layer.value("Inputs", json::array())),
                     types_of(layer.value("Outputs", json::array())), is_quantized);
    ++counts[precision.type];
    text += fmt::format("{:10} {:22} {}: {}{}\n", precision.type, kind,
                        printable(layer.value("Name", std::string())), precision.why,
                        kernel == "reference" ? "; no faster kernel takes it" : "");
  }
  const char* separator = "";
  for (const auto& [type, count] : counts) {
    text += fmt::format("{}{} layer{} in {}", separator, count, count == 1 ? "" : "s", type);
    separator = ", ";
  }
  return text;
}

}  // namespace tenon::tool
