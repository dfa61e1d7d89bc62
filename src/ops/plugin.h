// Plugin layers: the shape and type rules come from the plugin itself.
#pragma once

#include <NvInferRuntime.h>

#include <memory>

#include "network/op.h"

namespace tenon {

/// An IPluginV2 (Ext, IOExt, DynamicExt) as a layer. The op owns a clone of the plugin.
std::unique_ptr<Op> make_plugin_v2(nvinfer1::IPluginV2& plugin);

/// An IPluginV3 as a layer. The op owns a clone. The last `shape_inputs` inputs are shape tensors.
std::unique_ptr<Op> make_plugin_v3(nvinfer1::IPluginV3& plugin, int shape_inputs);

/// The plugin of a plugin layer; null for other layers. Owned by the op.
nvinfer1::IPluginV2* plugin_v2_of(const Op& op);
nvinfer1::IPluginV3* plugin_v3_of(const Op& op);

}  // namespace tenon
