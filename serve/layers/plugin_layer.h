// A plugin as a layer of a network.
#pragma once

#include <NvInfer.h>

#include <array>
#include <deque>
#include <string>
#include <vector>

namespace tenon::serve {

/// Attributes of a plugin, which live as long as this.
class Fields {
 public:
  void set(const char* name, const char* text) {
    fields_.push_back({name, text, nvinfer1::PluginFieldType::kCHAR,
                       static_cast<int32_t>(std::char_traits<char>::length(text))});
  }
  void set(const char* name, int32_t value) {
    integers_.push_back(value);
    fields_.push_back({name, &integers_.back(), nvinfer1::PluginFieldType::kINT32, 1});
  }
  void set(const char* name, float value) { set(name, std::array{value, value, value}, 1); }
  void set(const char* name, const std::array<float, 3>& values, int32_t count = 3) {
    floats_.push_back(values);
    fields_.push_back({name, floats_.back().data(), nvinfer1::PluginFieldType::kFLOAT32, count});
  }
  nvinfer1::PluginFieldCollection collection() const {
    return {static_cast<int32_t>(fields_.size()), fields_.data()};
  }

 private:
  std::deque<int32_t> integers_;
  std::deque<std::array<float, 3>> floats_;
  std::vector<nvinfer1::PluginField> fields_;
};

/// A layer of the plugin; throws Error where there is none, or it refuses its attributes.
nvinfer1::IPluginV3Layer& add_plugin(nvinfer1::INetworkDefinition& network, const char* name,
                                     const Fields& fields, std::vector<nvinfer1::ITensor*> inputs);

}  // namespace tenon::serve
