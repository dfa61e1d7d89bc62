// IPluginV2Layer, IPluginV3Layer, and layers of kinds that are not public.
#pragma once

#include "api/layer.h"
#include "plugin_layers/plugin.h"

namespace tenon {

class PluginV2View final
    : public LayerOf<nvinfer1::IPluginV2Layer, nvinfer1::apiv::VPluginV2Layer, Op> {
 public:
  using LayerOf::LayerOf;
  nvinfer1::IPluginV2& getPlugin() noexcept override { return *plugin_v2_of(op()); }
};
TENON_VIEW(PluginV2Layer, PluginV2View);

class PluginV3View final
    : public LayerOf<nvinfer1::IPluginV3Layer, nvinfer1::apiv::VPluginV3Layer, Op> {
 public:
  using LayerOf::LayerOf;
  nvinfer1::IPluginV3& getPlugin() noexcept override { return *plugin_v3_of(op()); }
};
TENON_VIEW(PluginV3Layer, PluginV3View);

class OtherView final : public nvinfer1::ILayer, public LayerView {
 public:
  OtherView(NetworkDefinition& owner, Node& node) : LayerView(owner, node) { mLayer = this; }
  nvinfer1::ILayer& handle() override { return *this; }
};

}  // namespace tenon
