#include "layer_types.h"

#include <algorithm>

#include "error.h"
#include "io_formats.h"

namespace tenon::tool {
namespace {

using nvinfer1::DataType;
using nvinfer1::ILayer;

// "conv*:fp16": a layer's name, in which one * stands for anything, and what it gets.
struct Rule {
  std::string name, types;
};

std::vector<Rule> rules_of(const char* option, const std::vector<std::string>& texts) {
  std::vector<Rule> rules;
  for (const std::string& text : texts)
    for (const std::string& part : CLI::detail::split(text, ',')) {
      const auto [name, types] = split_name(part);
      if (name.empty())
        fail(ErrorClass::kOptions, "{}: '{}' names no layer; expected NAME:TYPE, as *:fp16", option,
             part);
      if (std::count(name.begin(), name.end(), '*') > 1)
        fail(ErrorClass::kOptions, "{}: '{}' has more than one *", option, name);
      rules.push_back({name, types});
    }
  return rules;
}

// Later rules hold over earlier ones. A rule with a * leaves out layers that compute no floats.
template <class Set>
void apply(const char* option, const std::vector<std::string>& texts,
           nvinfer1::INetworkDefinition& network, const Set& set) {
  for (const Rule& rule : rules_of(option, texts)) {
    bool is_used = false;
    for (int32_t i = 0; i < network.getNbLayers(); ++i) {
      ILayer& layer = *network.getLayer(i);
      if (!matches(rule.name, layer.getName())) continue;
      is_used = true;
      const bool is_exact = rule.name.find('*') == std::string::npos;
      const bool has_floats = layer.getNbOutputs() > 0 && is_float(layer.getOutput(0)->getType());
      if (is_exact || has_floats) set(layer, rule.types);
    }
    if (!is_used)
      fail(ErrorClass::kNotInModel, "{}: the model has no layer '{}'; `tenon dump` lists them",
           option, rule.name);
  }
}

}  // namespace

void set_layer_types(session::Model& model, const BuildOptions& options) {
  constexpr const char *kPrecisions = "--layerPrecisions", *kTypes = "--layerOutputTypes",
                       *kDevices = "--layerDeviceTypes";
  nvinfer1::INetworkDefinition& network = *model.network;
  apply(kPrecisions, options.layer_precisions, network,
        [&](ILayer& layer, const std::string& type) {
          layer.setPrecision(parse_type(kPrecisions, type));
        });
  apply(kTypes, options.layer_output_types, network, [&](ILayer& layer, const std::string& types) {
    const auto list = CLI::detail::split(types, '+');
    for (int32_t i = 0; i < layer.getNbOutputs(); ++i)
      layer.setOutputType(
          i, parse_type(kTypes, list[std::min<size_t>(static_cast<size_t>(i), list.size() - 1)]));
  });
  apply(kDevices, options.layer_devices, network, [&](ILayer& layer, const std::string& device) {
    if (device == "DLA")
      fail(ErrorClass::kOptions, "{}: {}: there is no DLA here; remove it", kDevices,
           layer.getName());
    if (device != "GPU")
      fail(ErrorClass::kOptions, "{}: '{}' is not a device; expected GPU", kDevices, device);
    model.config->setDeviceType(&layer, nvinfer1::DeviceType::kGPU);
  });
}

}  // namespace tenon::tool
